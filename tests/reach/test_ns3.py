"""ns-3's LEDBAT beside this testbed's, where Debian's libns3-dev is installed."""

from pathlib import Path

import pytest

from engine.bench import ns3, papers

pytestmark = pytest.mark.skipif(not ns3.is_installed(), reason="libns3-dev is not installed")


def test_a_late_comer_takes_the_link_and_bytes_are_conserved(tmp_path: Path) -> None:
    program = ns3.build(tmp_path)
    flows = ("--flows=ledbat@0,ledbat@10:20000000", "--buffer=50", "--window=1", "--ackEvery=1", "--sampleS=0.1")
    run = ns3.samples(program, *flows, "--seconds=40")
    assert [run[0].received_bytes, run[0].queue_pkts] == [(0, 0), 0]
    first, second = run[-1].received_bytes
    assert second == 20_000_000
    assert (first + second) * 8 < 40 * 10e6


def test_the_table_has_a_row_for_each_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main([]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| claim | paper | here | ns-3 |"
    assert len(rows) == 5
