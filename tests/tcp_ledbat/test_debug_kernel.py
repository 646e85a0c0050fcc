"""The module in the kernel that finds memory, locking and sleeping errors."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images, kunit

SPLAT = re.compile(r"^.*(?:BUG:|WARNING:|KASAN|INFO: |suspicious|unreferenced object|Call Trace).*$", re.MULTILINE)
TRAFFIC = Path(__file__).with_name("traffic.py")


@pytest.mark.usefixtures("debug_images")
def test_every_case_passes() -> None:
    outcome = kunit.run()
    assert set(outcome["cases"].values()) == {"passed"}
    for claims, count in (("icccn-fig1", 12), ("eunice-sec3", 11), ("aina-sec4", 11)):
        assert sum(name.startswith(claims) for name in outcome["cases"]) == count


def test_load_and_unload_under_traffic(
    debug_images: images.Images, in_guest: Callable[[images.Images, Path], Path]
) -> None:
    results = in_guest(debug_images, TRAFFIC)
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
        "ledbat: gain_ppm is 1000001, allowed are 1 to 1000000",
        "ledbatpp: target_us is x, allowed are 1000 to 100000",
        "ledbat has no setting beta_ppm",
        "instance mirror is of nothing, allowed are ledbat, ledbatpp and earlier instances",
        "mirror: target_us is 1, allowed are 1000 to 100000",
        'instance is named "ledbat", allowed are new names of at most 15 letters, digits, - and _',
        "instance name8 is one too many, allowed are 8",
    ):
        assert f"tcp_ledbat: {words}" in module
    assert outcome["defaults"] == [20000, 30000, 60000, 25000]
    assert all(outcome["busy"])
    assert all(outcome["removed"])
    for sent in outcome["sent"]:
        assert len(sent) == 11
        assert min(sent.values()) > 10 * 1448
