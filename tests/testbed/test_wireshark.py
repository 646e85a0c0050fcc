"""`testbed wireshark`, and docs/howto/wireshark.md: its commands do what it says, and tshark shows it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.capture import packed, pcap
from testbed.cli import main

PAGE = Path(__file__).parents[2] / "docs/howto/wireshark.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
COLOUR = "frame.coloring_rule.name"
NEEDS_TSHARK = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, program: Callable[[str], None]) -> Path:
    """A folder in which the page's first commands were carried out."""
    program("libutp")
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine").mkdir()
    [scenario] = [text for kind, text in BLOCKS if kind == "yaml"]
    (folder / "mine/slower.yaml").write_text(scenario)
    said = shell(next(text for kind, text in BLOCKS if kind == "sh"), folder)
    assert "packets at bottleneck-in.r1-s1, bottleneck-in.r1-s2, bottleneck-out; " in said
    return folder


def run_of(home: Path) -> Path:
    return home / "runs/mine/slower/single/seed-1"


def tshark(home: Path, *words: str) -> list[list[str]]:
    command = ["tshark", "-C", "LEDBAT", "-r", "slower.pcapng", *words]
    settings = {**os.environ, "WIRESHARK_CONFIG_DIR": str(home)}
    done = subprocess.run(command, cwd=home, env=settings, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_it_has_the_packets_of_all_captures_in_order(home: Path) -> None:
    whole = pcap.read(home / "slower.pcapng").packets
    assert whole["time_ns"].is_sorted()
    parts = [pcap.read(path).packets for path in packed.kept(run_of(home))]
    assert len(whole) == sum(map(len, parts))
    keys = ("time_ns", "src", "sport", "seq", "ip_id", "tsval")
    expected = sorted(row for part in parts for row in part.select(keys).iter_rows())
    assert sorted(whole.select(keys).iter_rows()) == expected


@NEEDS_TSHARK
def test_tshark_shows_taps_hosts_and_what_happened(home: Path) -> None:
    [block] = [text for kind, text in BLOCKS if kind == "sh"][1:]
    assert "cubic starts (tcp-cubic, s2 to d2)" in shell(block, home)
    fields = ("frame.interface_name", "frame.comment", "ip.src_host", "ip.dst_host")
    rows = tshark(home, "-Y", "frame.comment", "-T", "fields", *(word for field in fields for word in ("-e", field)))
    assert rows[0] == ["bottleneck-in.r1-s1", "0 s: the scenario's zero,0 s: utp starts (libutp, s1 to d1)", "s1", "d1"]
    assert [row[1] for row in rows if "rate_bps" in row[1]] == ["8 s: on=bottleneck rate_bps=5000000"]
    drops = [row for row in rows if row[1].startswith("dropped")]
    counted = json.loads((run_of(home) / "summary.json").read_text())["counters"]["queues"]["bottleneck"][
        "dropped_pkts"
    ]
    assert len(drops) == counted > 10
    assert {row[0] for row in drops} == {"bottleneck-in.r1-s1", "bottleneck-in.r1-s2"}


@NEEDS_TSHARK
def test_the_profile_has_the_delays_of_utp_and_colours_what_happened(home: Path) -> None:
    (rule,) = {row[0] for row in tshark(home, "-Y", "frame.comment", "--color", "-T", "fields", "-e", COLOUR)}
    assert rule == "What happened"
    rows = tshark(home, "-Y", "bt-utp.type == 2 && frame.time_relative > 2")
    told = [re.search(r"BT-uTP \d+ \d+ \d+ \d+ (\d+) \d+ bytes", " ".join(row)) for row in rows]
    delays = [int(match[1]) for match in told if match]
    assert len(delays) == len(rows) > 100
    assert 25_000 <= min(delays) < max(delays) < 25_000 + 1e6 * 41 * 1500 * 8 / 5e6  # base, and a full queue


def test_what_is_wrong_is_said(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wireshark"]) == 2
    assert "found neither a run nor --profile; allowed: one or both" in capsys.readouterr().err
    run = tmp_path / "seed-1"
    shutil.copytree(run_of(home), run)
    for file in packed.kept(run):
        file.unlink()
    assert main(["wireshark", str(run), "--into", str(tmp_path / "a.pcapng")]) == 2
    assert f"{run}: found no captures; allowed: a run with packets" in capsys.readouterr().err
    assert not (tmp_path / "a.pcapng").exists()
