"""`testbed check` runs what nobody has looked at yet: what that reaches, changes and takes is what a run allows."""

import errno
import re
from pathlib import Path

import pytest

from engine import run as execution
from engine import sandbox
from testbed.check import command as check
from tests.trust.canary import Canary
from tests.trust.conftest import Sabotage, at_the_end
from tests.trust.test_containment import Attack, results


def transfer(into: Path) -> str | None:
    """What the first demand of the contract finds wrong, in runs whose guests are hostile."""
    into.mkdir()
    return next(check.check("tcp-reno", into)).wrong


def test_its_links_are_not_followed(tmp_path: Path, sabotage: Sabotage) -> None:
    canary = Canary(tmp_path / "home")
    places = ("zzz", "logs/a/b", "pcap/c", "summary.json")
    links = [(str(target), f"/results/{place}") for place, target in zip(places, canary.targets, strict=True)]
    act = f"os.makedirs('/results/logs/a'); [os.symlink(*one) for one in {links}]"
    sabotage(*at_the_end(act))
    told = transfer(tmp_path / "check")
    assert told and re.search(r"the testbed refuses what the guest left: unexpected file '.*' in the run folder", told)
    assert not [path for path in tmp_path.joinpath("check").rglob("*") if path.is_symlink()]
    canary.assert_intact()


def test_it_reaches_no_socket_and_no_file(tmp_path: Path, attack: Attack) -> None:
    attack(attack="reach", canary=Path.home(), port=9, abstract="nobody", victim=2**22 + 1)
    assert transfer(tmp_path / "check") is None
    (run,) = tmp_path.joinpath("check").rglob("seed-1")
    told = results(run)
    assert told["canary"] == -errno.ENOENT
    assert {told[name] for name in ("loopback", "abstract", "shared-memory", "mount", "namespace")} == {-errno.EPERM}


def test_its_memory_is_limited(tmp_path: Path, attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    small = lambda **given: sandbox.Limits(**given, memory_bytes=256 << 20)  # noqa: E731
    monkeypatch.setattr(execution, "Limits", small)
    attack(attack="memory")
    told = transfer(tmp_path / "check")
    assert told and re.search(r"its processes t(ake \d+|ook more than the 256) MiB of memory", told)
