"""What `make bench` says of its figures; they are measured nowhere else."""

from pathlib import Path

import pytest

from engine.bench import growth
from engine.bench.beside import slower

UNITS = {"run_s": "s", "speed": "virtual s/s", "payload": "Mbit/s", "ns3_s": "s"}


def test_slower_is_told_in_the_time_that_ns3_takes() -> None:
    before = {"ns3_s": 10.0, "run_s": 1.0, "speed": 100.0, "payload": 9.0}
    slow_day = {"ns3_s": 30.0, "run_s": 3.2, "speed": 20.0, "payload": 1.0}
    assert slower(before, slow_day, UNITS) == pytest.approx({"speed": 100 / 20 / 3})
    assert slower(before, {**before, "run_s": 1.2}, UNITS) == {"run_s": 1.2}


def test_without_ns3_nothing_is_compared() -> None:
    assert slower({"run_s": 1.0}, {"run_s": 9.0, "ns3_s": 10.0}, UNITS) == {}


def test_growth_is_drawn(tmp_path: Path) -> None:
    costs = [growth.Cost("hosts", 10**power, 2.0 * 10**power) for power in range(3)]
    assert [cost.each_s for cost in costs] == [2.0, 2.0, 2.0]
    growth.draw(costs, tmp_path / "growth.svg")
    assert "hosts" in (tmp_path / "growth.svg").read_text()
