"""What `make bench` says of its figures; they are measured nowhere else."""

import dataclasses
from pathlib import Path

import pytest

from common import sums
from engine import images
from engine.bench import growth, native
from engine.bench.beside import slower
from engine.bench.measure import PROGRAMS, repeat_packets
from engine.images import Program
from scenarios.resolve import expand

UNITS = {"run_s": "s", "speed": "virtual s/s", "payload": "Mbit/s", "ns3_s": "s"}


def test_slower_is_told_in_the_time_that_ns3_takes() -> None:
    before = {"ns3_s": 10.0, "run_s": 1.0, "speed": 100.0, "payload": 9.0}
    slow_day = {"ns3_s": 30.0, "run_s": 3.2, "speed": 20.0, "payload": 1.0}
    assert slower(before, slow_day, UNITS) == pytest.approx({"speed": 100 / 20 / 3})
    assert slower(before, {**before, "run_s": 1.2}, UNITS) == {"run_s": 1.2}


def test_without_ns3_nothing_is_compared() -> None:
    assert slower({"run_s": 1.0}, {"run_s": 9.0, "ns3_s": 10.0}, UNITS) == {}


def test_what_cannot_be_measured_natively_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here the program lacks its endpoint, so that no byte comes."""
    monkeypatch.setattr(images, "program", lambda _: Program(tmp_path, Path("/"), {}, {}))
    (cell, *_) = expand(PROGRAMS, "complete")
    short = dataclasses.replace(cell, settings={**cell.settings, "duration_ns": 1_000_000_000})
    assert native.figures({"libutp": short}, {"libutp": 1.0}) == {}
    assert "not measured natively: libutp: found 0 bytes after 1 s; allowed: at least 625000" in capsys.readouterr().err


def test_growth_is_drawn(tmp_path: Path) -> None:
    costs = [growth.Cost("hosts", 10**power, 2.0 * 10**power) for power in range(3)]
    assert [cost.each_s for cost in costs] == [2.0, 2.0, 2.0]
    growth.draw(costs, tmp_path / "growth.svg")
    assert "hosts" in (tmp_path / "growth.svg").read_text()


def test_a_capture_whose_packets_are_repeated_has_a_sum_again(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(b"h" * 24 + b"packets")
    sums.write(tmp_path, sums.below(tmp_path))
    repeat_packets(tmp_path, "a.pcap", 3)
    assert (tmp_path / "a.pcap").read_bytes() == b"h" * 24 + b"packets" * 3
    assert not sums.damaged(tmp_path)
