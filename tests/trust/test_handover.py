"""Links that a guest leaves are never followed: whatever they point at is as it was, in every respect stat() knows."""

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from engine import handover
from engine.errors import EngineError
from engine.sandbox import Limits
from tests.trust.canary import Canary

LIMITS = Limits()


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "home")


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A run folder as a guest leaves it."""
    folder = tmp_path / "results" / "seed-1"
    for name in ("pcap", "traces", "logs"):
        (folder / name).mkdir(parents=True)
    for name in ("run.json", "guest.json", "heartbeat", "pcap/tap.pcap", "logs/console.log"):
        (folder / name).write_text(name)
    return folder


PLACES = ["zzz", "logs", "pcap", "run.json", "guest.json", "heartbeat", "summary.json"]
PLACES += ["pcap/tap.pcap", "logs/console.log", "logs/a/b", "traces/\udcff\n*"]


def put(folder: Path, place: str, link_to: Path) -> None:
    """A link in place of whatever is there."""
    path = folder / place
    if path.is_dir():
        handover.remove(path)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(link_to)


@pytest.mark.parametrize("place", PLACES)
def test_accept_follows_no_link(left: Path, canary: Canary, place: str) -> None:
    for target in canary.targets:
        put(left, place, target)
        handover.over(left, LIMITS)
        with pytest.raises(EngineError, match=r"unexpected file .* in the run folder"):
            handover.accept(left, LIMITS)
        assert not any(path.is_symlink() for path in left.rglob("*"))
        canary.assert_intact()


@pytest.mark.parametrize("place", PLACES)
def test_too_much_is_removed_without_following(left: Path, canary: Canary, place: str) -> None:
    for target in canary.targets:
        (left / "logs").mkdir(exist_ok=True)
        put(left, place, target)
        with pytest.raises(EngineError, match="refuses what the guest left: its run folder takes"):
            handover.accept(left, Limits(disk_bytes=1))
        canary.assert_intact()


def test_a_folder_is_removed_without_following(left: Path, canary: Canary) -> None:
    for number, target in enumerate(canary.targets):
        put(left, f"logs/{number}/link", target)
        (left / "logs" / str(number)).chmod(0o000)
    (left / "pcap").chmod(0o000)
    handover.remove(left)
    assert not left.exists()
    canary.assert_intact()
    left.symlink_to(canary.folder)  # nor is a link in its own place
    handover.remove(left)
    assert not left.is_symlink()
    canary.assert_intact()


@pytest.mark.parametrize("act", [handover.remove, lambda folder: handover.accept(folder, LIMITS)])
def test_what_changes_meanwhile_is_not_followed_either(left: Path, canary: Canary, act: Callable[[Path], None]) -> None:
    """Folders and files become links and back while they are looked at."""
    over = threading.Event()

    def swap() -> None:
        # This thread alone writes here: at that moment nothing is a link, so the test itself never follows one.
        while not over.is_set():
            for place, target in (("logs", canary.folder), ("pcap/tap.pcap", canary.folder / "secret")):
                with suppress(OSError):
                    (left / place).rename(left / f"{place}.away")
                    (left / place).symlink_to(target)
                    (left / place).unlink()
                    (left / f"{place}.away").rename(left / place)
            for name in ("pcap", "logs"):
                with suppress(OSError):
                    (left / name).mkdir(parents=True, exist_ok=True)
                    (left / name / "tap.pcap").write_text("")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(1000):
            with suppress(EngineError, OSError):
                act(left)
    finally:
        over.set()
        thread.join()
    canary.assert_intact()


def test_deep_folders_and_modes_do_not_stop_removal(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    for _ in range(1200):  # deeper than a path may be long, and than Python recurses
        os.mkdir("folder", dir_fd=place)
        inner = os.open("folder", os.O_RDONLY, dir_fd=place)
        os.fchmod(place, 0o000)
        os.close(place)
        place = inner
    os.close(place)
    assert handover.over(top, LIMITS)
    handover.remove(top)
    assert not top.exists()


def test_kinds_and_modes(left: Path) -> None:
    for name, mode in (("run.json", 0o000), ("logs", 0o000), ("pcap/tap.pcap", 0o6777), (".", 0o000)):
        (left / name).chmod(mode)
    handover.accept(left, LIMITS)
    assert stat.S_IMODE((left / "pcap/tap.pcap").stat().st_mode) == 0o644
    assert {stat.S_IMODE(path.stat().st_mode) for path in (left, left / "logs")} == {0o755}
    (left / "guest.json").unlink()
    (left / "guest.json").mkdir()
    with pytest.raises(EngineError, match=r"unexpected file 'guest\.json' in the run folder"):
        handover.accept(left, LIMITS)
    assert not (left / "guest.json").exists()


def test_holes_count(left: Path) -> None:
    with (left / "pcap" / "hole").open("wb") as file:
        file.truncate(300 << 20)
    assert "takes 300 MiB, this run may take 256 MiB; the largest file is 'pcap/hole'" in str(
        handover.over(left, LIMITS)
    )
