"""The module in the kernel that finds memory, locking and sleeping errors."""

import json
import re
import shutil
from pathlib import Path

import pytest

from engine import images, kunit, launch, watch
from engine.cpu_claims import free_cpu

SPLAT = re.compile(r"^.*(?:BUG:|WARNING:|KASAN|INFO: |suspicious|unreferenced object|Call Trace).*$", re.MULTILINE)
TRAFFIC = Path(__file__).with_name("traffic.py")


@pytest.mark.usefixtures("debug_images")
def test_every_case_of_the_arithmetic_passes() -> None:
    outcome = kunit.run()
    assert set(outcome["cases"].values()) == {"passed"}
    for claims, count in (("icccn-fig1", 12), ("eunice-sec3", 11), ("aina-sec4", 11)):
        assert sum(name.startswith(claims) for name in outcome["cases"]) == count


def test_load_and_unload_under_traffic(
    debug_images: images.Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    for package in ("engine", "topologies"):
        shutil.copytree(images.PROJECT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TRAFFIC, code / "engine" / "guest" / "traffic.py")
    monkeypatch.setattr(images, "PROJECT", code)
    results = tmp_path / "results"
    (results / "logs").mkdir(parents=True)
    arguments = launch.boot_arguments(debug_images, 1, "engine.guest.traffic")
    with free_cpu() as cpu:
        watch.run(launch.command(debug_images, results, cpu, arguments, kunit.LIMITS), results, kunit.LIMITS)

    console = (results / "logs" / "console.log").read_text(errors="replace")
    assert (results / "logs" / "traffic.json").exists(), console
    outcome = json.loads((results / "logs" / "traffic.json").read_text())
    log = (results / "logs" / "kernel.log").read_text()
    # before the module: User-Mode Linux's libc allocates memory for an error's text while an interrupt is set up
    module = log[log.index("tcp_ledbat: ") :]
    assert not SPLAT.findall(module)
    assert not SPLAT.findall(console[console.index("tcp_ledbat: ") :])

    assert all(outcome["refused"].values())
    for words in (
        "ledbat_md: beta_ppm is 0, allowed are 1 to 1000000",
        "ledbat: gain_ppm is 1000001, allowed are 1 to 1000000",
        "ledbat_draft00: target_us is x, allowed are 1000 to 1000000",
        "ledbat has no setting beta_ppm",
    ):
        assert f"tcp_ledbat: {words}" in module
    assert outcome["default"] == 20000
    assert all(outcome["busy"])
    assert all(outcome["removed"])
    for sent in outcome["sent"]:
        assert len(sent) == 10
        assert min(sent.values()) > 10 * 1448
