"""What a program under test can do to what measures it: nothing, unless it becomes root of the guest's kernel."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError
from engine.guest import programs
from engine.run import execute, run_folder
from scenarios import schema
from scenarios.resolve import expand, resolve
from tests.engine.conftest import own_implementations, sabotage  # noqa: F401  fixtures
from tests.trial import trial
from tests.trust.conftest import Sabotage, at_the_end

CLIENT = Path(__file__).with_name("client")
SCENARIO = """\
experiment: attacked
title: A client attacks what measures it
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: it, implementation: client, from: s1, to: d1}]
duration: 3s
captures: [sender, bottleneck-out]
keep_captures: true
"""
Attacked = Callable[..., tuple[dict[str, Any], Path]]


@pytest.fixture
def attacked(own_implementations: Path, program: Callable[[str], None], tmp_path: Path) -> Attacked:  # noqa: F811
    """Runs a flow of the client with one of its attacks; returns the summary and the run's folder."""

    def run(attack: str, asked: str = "") -> tuple[dict[str, Any], Path]:
        shutil.copytree(CLIENT, own_implementations / "client")
        (own_implementations / "client/attack").write_text(attack)
        with (own_implementations / "client/implementation.yaml").open("a") as file:
            file.write(asked)
        program("client")
        (cell,) = expand(trial(tmp_path, SCENARIO), "complete")
        return execute(resolve(cell, 1), tmp_path / "runs"), run_folder(tmp_path / "runs", cell, 1)

    return run


REFUSED = {
    **dict.fromkeys(("enter mounts", "captures through /proc", "memory of others", "trace others"), "none"),
    **dict.fromkeys(("processes in /proc", "signal others", "what is beside its logs"), "none"),
    "descriptors inherited": "none",
    **dict.fromkeys(("write to its program", "a setting of the kernel", "a setting of the network"), "EROFS"),
    **dict.fromkeys(("a queue", "a link"), "refused"),
    "a BPF program": "ENOSYS",
    "the guest's console": "done",  # a file in its own /dev
    "devices of others": "its own",
    "capabilities": "0000000000000000",
}


def test_a_client_reaches_nothing_that_measures_it(attacked: Attacked) -> None:
    summary, folder = attacked("reach")
    told = json.loads((folder / "logs/it.sender/attacks.json").read_text())
    assert told == {name: REFUSED.get(name, "EPERM") for name in told}
    assert summary["flows"]["it"]["received_bytes"] > 8 * 2_000


def test_a_client_gets_what_it_asks_for(attacked: Attacked) -> None:
    _, folder = attacked("reach", "capabilities: [net_raw]\n")
    told = json.loads((folder / "logs/it.sender/attacks.json").read_text())
    assert told["capabilities"] == f"{1 << 13:016x}"
    assert told["a packet socket"] == "done"
    assert told["a queue"] == "refused"


def test_the_schema_names_what_can_be_asked_for() -> None:
    fields = schema.load_schema("implementation")["properties"]
    assert set(fields["capabilities"]["items"]["enum"]) == set(programs.CAPABILITIES)


def test_a_receiver_claims_what_did_not_come(attacked: Attacked) -> None:
    with pytest.raises(EngineError, match=r"the receivers of it report 1000000000000 bytes, \d+ at most came to d1"):
        attacked("claims")


@pytest.mark.parametrize("what", ["a pipe", "a link"])
def test_what_it_reports_in_no_plain_file_is_refused(attacked: Attacked, what: str) -> None:
    """The agent neither waits for it nor follows it, and the host refuses it."""
    with pytest.raises(EngineError, match="unexpected file 'received_bytes' in the run folder"):
        attacked(what)


def test_nothing_that_it_starts_outlives_it(attacked: Attacked) -> None:
    summary, _ = attacked("children")
    assert summary["flows"]["it"]["receiver_exit"] == 0


MOUNT = """\
import os, subprocess
environment = os.environ | {{'LIBMOUNT_FORCE_MOUNT2': 'always'}}
words = 'mount -i -t hostfs -o /guest/run x /mnt; echo $?; echo 0 >{sealed}; cat {sealed}'
told = subprocess.run(words, shell=True, env=environment, capture_output=True, text=True)
open('/results/logs/told', 'w').write(told.stdout)
"""


def test_hostfs_is_sealed_even_for_root(scenario: Path, tmp_path: Path, sabotage: Sabotage) -> None:  # noqa: F811
    sabotage(*at_the_end(f"exec({MOUNT.format(sealed='/proc/sys/fs/hostfs/sealed')!r})"))
    (cell,) = expand(scenario, "complete")
    execute(resolve(cell, 1), tmp_path)
    assert (run_folder(tmp_path, cell, 1) / "logs/told").read_text() == "32\n1\n"
