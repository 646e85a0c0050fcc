"""``testbed kunit``: the KUnit tests of the LEDBAT modules, in a guest with the debug kernel."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from common import sums
from common.arguments import path
from engine import handover, images, launch, watch
from engine.cpu_slots import free_cpu
from engine.errors import EngineError
from engine.sandbox import Limits
from images import index

PROGRAM = "engine.guest.kunit"
MODULES = ("tcp_ledbat", "tcp_ledbat_research", "tcp_rledbat")
LIMITS = Limits(address_space_bytes=1 << 45)  # KASAN maps an eighth of all addresses, and touches few
SWITCHED_ON = ("kunit.enable=1", "kunit.autorun=1")
# The kernel's log with and without time stamps: `    ok 3 name` is a case, indented by four below its suite.
_CASE = re.compile(r"^(?:\[[^]]*\])? {4}(?P<result>ok|not ok) \d+ (?P<name>\S+)(?P<skip> # SKIP)?", re.MULTILINE)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `testbed kunit`."""
    parser.add_argument("--into", type=path, default=Path("results/kunit.json"), help="default: %(default)s")


def main(options: argparse.Namespace) -> int:
    """Run all cases, write them to a file; return 0 when all passed, else 1.

    Raises:
        EngineError: the debug kernel has not been built, or the guest ended before the tests.
    """
    into: Path = options.into
    outcome = run()
    with sums.replacing(into.parent) as draft:
        (draft / into.name).write_text(json.dumps(outcome, indent=1) + "\n")
    failed = [name for name, result in outcome["cases"].items() if result != "passed"]
    print(f"{len(outcome['cases']) - len(failed)} of {len(outcome['cases'])} cases passed: {into}")
    for name in failed:
        print(f"{outcome['cases'][name]}: {name}")
    return 1 if failed else 0


def run() -> dict[str, Any]:
    """{"cases": {name: passed | failed | skipped}, "log": what the kernel printed, "kernel", "modules": digests}."""
    boot = images.load(index.DEBUG)
    with handover.scratch("kunit") as folder, free_cpu() as cpu:
        (folder / "logs").mkdir()
        arguments = [*launch.boot_arguments(boot, 1, PROGRAM), *SWITCHED_ON]
        command = launch.command(boot, folder, cpu, arguments, LIMITS)
        status = watch.run(command, folder, LIMITS, kernel=boot.kernel)
        handover.accept(folder, LIMITS)
        log = folder / "logs" / "kernel.log"
        if not log.exists():
            console = (folder / "logs" / "console.log").read_text(errors="replace")
            raise EngineError(f"the guest ended with status {status} before the tests: {console.strip()[-300:]}")
        text = log.read_text()
    return {
        "kernel": boot.provenance["kernel"]["digest"],
        "modules": {name: boot.provenance[f"module:{name}"]["digest"] for name in MODULES},
        "cases": cases(text),
        "log": text.splitlines(),
    }


def cases(log: str) -> dict[str, str]:
    """What became of each case, by its name."""
    words = {"ok": "passed", "not ok": "failed"}
    return {match["name"]: "skipped" if match["skip"] else words[match["result"]] for match in _CASE.finditer(log)}
