"""What a run does, and how it fails: with one sentence, and never with half a folder under its final name."""

import csv
import dataclasses
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analysis.capture import pcap
from analysis.capture.columns import write_columns
from analysis.run import Run
from common import sums
from engine import progress, recorder
from engine import run as execution
from engine.errors import EngineError
from engine.images import PROJECT
from engine.run import execute, run_folder
from scenarios.resolve import Cell, expand, resolve
from testbed.cli import main
from testbed.evaluate.read_criteria import FOLDER

Sabotage = Callable[[str, str, str], None]
SCENARIO = 'outcome["latest_event_ns"] = _scenario(net, run, running)\n'


@pytest.fixture
def cell(scenario: Path) -> Cell:
    return expand(scenario, "complete")[0]


def test_a_run_leaves_what_it_promises(cell: Cell, tmp_path: Path) -> None:
    summary = execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)

    assert summary["status"] == "ok"
    promised = {"run.json", "summary.json", "SHA256SUMS", "pcap", "traces", "logs"}
    assert {file.name for file in folder.iterdir()} == promised
    run = json.loads((folder / "run.json").read_text())
    assert run["provenance"]["kernel"]["digest"]
    assert run["implementations"]["tcp-ledbat-draft00"]["congestion_control"] == "ledbat_draft00"
    versions = {
        name: _module_version(module)
        for name, module in (("tcp-aimd", "aimd"), ("tcp-ledbat-draft00", "ledbat_research"))
    }
    assert summary["versions"] == versions
    assert str(tmp_path) not in (folder / "run.json").read_text()
    with (folder / "traces" / "events.csv").open() as file:
        assert [int(row["time_ns"]) for row in csv.DictReader(file)] == [2_000_000_000, 3_000_000_000]


def _module_version(module: str) -> str:
    sources = "".join(file.read_text() for file in (PROJECT / f"images/tcp_{module}").glob("*.c"))
    (version,) = re.findall(r'^MODULE_VERSION\("(.+)"\);', sources, re.MULTILINE)
    return str(version)


def _rows(folder: Path, trace: str) -> dict[int, dict[str, str]]:
    with (folder / "traces" / trace).open() as file:
        return {int(row["time_ns"]): row for row in csv.DictReader(file)}


def test_a_rate_event_takes_effect_at_its_instant(cell: Cell, tmp_path: Path) -> None:
    execute(resolve(cell, 1), tmp_path)
    queue = _rows(run_folder(tmp_path, cell, 1), "queue.csv")
    # the queue is never empty from the event on: 5 Mbit/s pass, to the packet
    sent_bytes = int(queue[3_000_000_000]["sent_bytes"]) - int(queue[2_000_000_000]["sent_bytes"])
    assert abs(8 * sent_bytes - 5_000_000) <= 2 * 8 * 1500


def test_a_delay_event_is_what_the_sender_sees(scenario: Path, tmp_path: Path) -> None:
    text = scenario.read_text().replace("at: 3s", "at: 1s")
    kept = [line for line in text.splitlines() if "tcp-aimd" not in line and "rate: 5mbit" not in line]
    scenario.write_text("\n".join(kept))
    (alone,) = expand(scenario, "complete")
    execute(resolve(alone, 1), tmp_path)
    window = _rows(run_folder(tmp_path, alone, 1), "cwnd-ledbat.csv")
    # the window is far below the bandwidth-delay product, the queue empty: only the path's step from 25 to 40 ms shows
    before_us, after_us = (int(window[at_ns]["queuing_delay_us"]) for at_ns in (990_000_000, 1_200_000_000))
    assert before_us < 1_500
    assert abs(after_us - 15_000) < 1_500


def test_loss_and_jitter_events_are_applied_to_their_direction(scenario: Path, tmp_path: Path) -> None:
    event = "{at: 500ms, on: path, jitter: {forward: 2ms}, loss: {forward: 10%}}"
    text = scenario.read_text()
    scenario.write_text(
        text.replace("{at: 3s, on: path, delay: {forward: 40ms}}", event).replace("at: 2s", "at: 4900ms")
    )
    (disturbed,) = expand(scenario, "complete")
    execute(resolve(disturbed, 1), tmp_path)
    folder = run_folder(tmp_path, disturbed, 1)
    lost = {
        name: int(_rows(folder, f"cwnd-{name}.csv")[2_500_000_000]["retransmitted_pkts"]) for name in ("tcp", "ledbat")
    }
    assert lost["ledbat"] > 0 < lost["tcp"]
    interfaces = json.loads((folder / "summary.json").read_text())["counters"]["interfaces"]
    assert (
        interfaces["s2-eth0"]["received_pkts"] == interfaces["d2-eth0"]["sent_pkts"]
    )  # the reverse path loses nothing


def _rewritten(scenario: Path, **lines: str) -> Cell:
    """The scenario with the flow lines `tcp`, `ledbat` and the line `duration` extended by the words given."""
    text = scenario.read_text()
    for name, words in lines.items():
        text = re.sub(rf"(name: {name}, .*start: 0s)", rf"\1, {words}", text)
    scenario.write_text(text)
    return expand(scenario, "complete")[0]


def test_flows_with_bytes_end_when_delivered_and_the_run_with_the_last(scenario: Path, tmp_path: Path) -> None:
    cell = _rewritten(scenario, tcp="bytes: 1MB", ledbat="bytes: 100kB")
    summary = execute(resolve(cell, 1), tmp_path)
    flows = summary["flows"]
    assert [flows[name]["received_bytes"] for name in ("tcp", "ledbat")] == [1_000_000, 100_000]
    assert 0 < flows["ledbat"]["completed_ns"] < flows["tcp"]["completed_ns"] <= summary["ended_ns"]
    assert summary["ended_ns"] - flows["tcp"]["completed_ns"] < 1_000_000
    # the last ACK is what completes a flow
    rows = list(_rows(run_folder(tmp_path, cell, 1), "cwnd-tcp.csv"))
    assert flows["tcp"]["completed_ns"] - 20_000_000 < rows[-1] <= flows["tcp"]["completed_ns"]


def test_a_run_without_flows_is_what_its_network_costs(cell: Cell, tmp_path: Path) -> None:
    empty = dataclasses.replace(cell, settings={**cell.settings, "flows": []})
    assert execute(resolve(empty, 1), tmp_path)["flows"] == {}


def test_a_flow_that_is_not_done_in_time_is_named(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = _rewritten(scenario, tcp="bytes: 100MB", ledbat="bytes: 100kB")
    assert main(["run", str(scenario), "--seed", "1", "--into", str(tmp_path)]) == 0
    assert "5 s in" in (words := capsys.readouterr().out) and "not done in time: tcp" in words
    summary = json.loads((run_folder(tmp_path, cell, 1) / "summary.json").read_text())
    assert summary["flows"]["tcp"]["completed_ns"] is None
    assert summary["flows"]["ledbat"]["completed_ns"] < summary["ended_ns"] == 5_000_000_000


def test_a_flow_stops_at_its_instant(scenario: Path, tmp_path: Path) -> None:
    cell = _rewritten(scenario, tcp="stop: 1s")
    summary = execute(resolve(cell, 1), tmp_path)
    assert "completed_ns" not in summary["flows"]["tcp"]
    queue = _rows(run_folder(tmp_path, cell, 1), "queue.csv")
    assert int(queue[990_000_000]["backlog_pkts"]) > 0
    assert max(_rows(run_folder(tmp_path, cell, 1), "cwnd-tcp.csv")) == 990_000_000
    assert 100_000 < summary["flows"]["tcp"]["received_bytes"] < 1_250_000
    assert summary["ended_ns"] == 5_000_000_000


ADSL = """\
experiment: adsl
title: Data both ways over an asymmetric line
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 1mbit, buffer: 20p}
backward_bottleneck: {rate: 4mbit, buffer: 30p}
delay: {forward: 20ms, backward: 10ms}
flows:
  - {name: up, implementation: tcp-aimd, from: s1, to: d1}
  - {name: down, implementation: tcp-reno, from: d1, to: s1, start: 1s}
events:
  - {at: 4s, on: backward_bottleneck, rate: 2mbit}
duration: 6s
captures: [bottleneck-out, backward-in]
"""


def test_data_both_ways_over_an_asymmetric_line(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(ADSL)
    (cell,) = expand(scenario, "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    probed = summary["probe"]["s1-d1"]
    assert abs(probed["capacity_bps"] - 1e6) < 1e3
    assert abs(probed["backward_capacity_bps"] - 4e6) < 4e3
    queues = summary["counters"]["queues"]
    assert queues["bottleneck"]["sent_pkts"] > 0
    assert queues["backward_bottleneck"]["dropped_pkts"] > 0  # data fills it

    trace = _rows(folder, "queue-backward.csv")
    run = Run(folder)
    assert write_columns(folder) == []
    assert run.settings.flows[1].backward
    # while packets wait, the reverse path passes its rate, before and after the event; 10 ms need at most 5000 bytes
    for start_ms, end_ms, rate_bps in ((1500, 4000, 4_000_000), (4000, 6000, 2_000_000)):
        sent_bits = [
            8 * (int(later["sent_bytes"]) - int(row["sent_bytes"]))
            for (at_ns, row), (_, later) in itertools.pairwise(trace.items())
            if start_ms <= at_ns / 1e6 < end_ms and int(row["backlog_bytes"]) >= 7500
        ]
        assert len(sent_bits) > 100
        assert sum(sent_bits) / len(sent_bits) == pytest.approx(rate_bps / 100, rel=0.02)
    assert run.backward_queue_ms.at(5) == pytest.approx(float(trace[5_000_000_000]["backlog_bytes"]) * 8e3 / 2e6)
    # forward path: data of one flow, ACKs of the other
    assert run.throughput("up", 2, 4) < 1e6 * run.utilization(2, 4) - 20_000
    assert run.share("up", 2, 6) == run.jain(2, 6) == 1


@pytest.mark.parametrize(
    ("words", "taps"), [([], {"bottleneck-in", "bottleneck-out"}), (["--temporary-packets"], set())]
)
def test_a_run_keeps_the_packets_of_its_bottleneck_packed(
    scenario: Path, tmp_path: Path, words: list[str], taps: set[str]
) -> None:
    text = scenario.read_text().replace("keep_captures: true\n", "")
    scenario.write_text(text.replace("captures: [bottleneck-in, bottleneck-out]", "captures: [bottleneck-out]"))
    order = ["run", str(scenario), "--seed", "1", "--into", str(tmp_path / "runs"), "--columns", *words]
    assert main(order) == 0
    folder = run_folder(tmp_path / "runs", expand(scenario, "complete")[0], 1)
    packets = pl.read_parquet(folder / "columns/packets.parquet")
    assert packets["tap"].unique().to_list() == ["bottleneck-out"] and packets.height > 100
    kept = {file.name: file for file in (folder / "pcap").iterdir()}
    assert {name.partition(".")[0] for name in kept} == taps and all(name.endswith(".pcap.gz") for name in kept)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert main(["observe", str(folder)]) == 0  # what reads removes nothing
    after = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert before.keys() <= after.keys()
    assert {file for file in before if before[file] != after[file]} <= {folder / "SHA256SUMS"}
    if taps:
        assert pcap.read(kept["bottleneck-out.pcap.gz"]).packets.height == packets.height
        digests = json.loads((folder / "summary.json").read_text())["digests"]
        assert digests["pcap/bottleneck-out.pcap.gz"] == sums.digest(kept["bottleneck-out.pcap.gz"])


def test_what_a_killed_run_left_is_removed(cell: Cell, tmp_path: Path) -> None:
    leftover = run_folder(tmp_path, cell, 1).with_name(".seed-1.4194305.partial")  # beyond the largest process number
    leftover.mkdir(parents=True)
    execute(resolve(cell, 1), tmp_path)
    assert [path.name for path in leftover.parent.iterdir()] == ["seed-1"]


def test_the_probe_notices_a_path_that_is_not_the_scenarios(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    longer = 'else Propagation(values["delay_ns"] + 50_000)'
    sabotage("topologies/links/__init__.py", "else Propagation(**values)", longer)
    with pytest.raises(EngineError, match=r"fidelity probe: forward delay from s1 to d1 is 2505.* says 25000000"):
        execute(resolve(cell, 1), tmp_path)


def test_the_probe_notices_a_wrong_capacity(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage("topologies/links/__init__.py", 'return Bottleneck(values["rate_bps"],', "return Bottleneck(9_900_000,")
    with pytest.raises(EngineError, match=r"fidelity probe: capacity from s1 to d1 is 99"):
        execute(resolve(cell, 1), tmp_path)


def test_a_packet_just_before_the_captures_end_is_not_lost(tmp_path: Path) -> None:
    """The last packets of this handshake are lost, and the kernel sends them again up to a second before the end."""
    cells = {cell.name: cell for cell in expand(FOLDER / "wireless" / "links.yaml", "complete")}
    execute(resolve(cells["case=bursts,client=tcp-cubic"], 1), tmp_path)


def test_the_audit_notices_packets_missing_in_a_capture(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_ns = 6_000_000_000
    begun_late = lambda captures, from_ns, *where: recorder.Recording(captures, from_ns + late_ns, *where)  # noqa: E731
    monkeypatch.setattr(execution, "Recording", begun_late)
    with pytest.raises(EngineError, match=r"audit: the capture at bottleneck-in .* packets, the interface counted"):
        execute(resolve(cell, 1), tmp_path)


def test_the_audit_notices_packets_lost_outside_the_queue(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    # the router stops forwarding for a moment
    switch = "net['r1'].set_sysctl('net/ipv4/conf/r1-s1/forwarding', '{}')"
    pause = f"[]; {switch.format(0)}; sleep_until(run['origin_ns'] + at_ns + 50_000_000); {switch.format(1)}"
    sabotage("engine/guest/agent.py", 'net.apply(what["changes"])', pause)
    with pytest.raises(EngineError, match=r"audit: \d+ packets came to the bottleneck, \d+ left it"):
        execute(resolve(cell, 1), tmp_path)


def test_the_watchdog_names_a_program_that_never_sleeps(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "STANDSTILL_S", 3.0)
    sabotage("engine/guest/kernel_tcp.py", "[_BULK, *map(str, words)]", '["bash", "-c", "while :; do :; done"]')
    with pytest.raises(EngineError, match=r"no progress for 3 s while .* bash .* computes without ever sleeping"):
        execute(resolve(cell, 1), tmp_path)


def test_a_failed_run_keeps_its_logs_beside_its_name(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage("engine/guest/agent.py", SCENARIO, 'raise RuntimeError("on purpose")\n')
    with pytest.raises(EngineError, match=r"on purpose .*logs in"):
        execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    assert [path.name for path in folder.parent.iterdir()] == ["failed-seed-1"]
    assert "on purpose" in (folder.parent / "failed-seed-1" / "logs" / "agent.log").read_text()


def test_an_endpoint_that_fails_fails_the_run(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage("engine/guest/kernel_tcp.py", 'implementation["congestion_control"]', '"nosuch"')
    with pytest.raises(EngineError, match=r"flow tcp: sender exited with 127: bulk: congestion control nosuch"):
        execute(resolve(cell, 1), tmp_path)


def test_a_flow_that_never_connects_fails_the_run(scenario: Path, tmp_path: Path) -> None:
    text = scenario.read_text().replace("start: 0s}", "start: 200ms}", 1)
    scenario.write_text(
        text.replace("{at: 2s, on: bottleneck, rate: 5mbit}", "{at: 100ms, on: path, loss: {forward: 100%}}")
    )
    with pytest.raises(EngineError, match="flow tcp: sender exited with 1: bulk: never connected"):
        execute(resolve(expand(scenario, "complete")[0], 1), tmp_path)


def test_the_guest_cannot_write_outside_the_run_folder(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    places = ("/opt/tools", "/opt/testbed", "/opt/modules")
    attempts = "; ".join(f"__import__('os').system('echo x > {place}/testbed-canary')" for place in places)
    sabotage("engine/guest/agent.py", SCENARIO, f"{attempts}; {SCENARIO}")
    execute(resolve(cell, 1), tmp_path)
    assert not list((tmp_path / "code").rglob("testbed-canary"))


def test_folders_that_cannot_be_written_are_named(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["run", str(scenario), "--seed", "1", "--into", str(blocked)]) == 1
    assert f"{blocked}" in (words := capsys.readouterr().err) and "cannot be written" in words
    assert "Traceback" not in words


def _mounted(options: str, scenario: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the scenario into a file system of its own, mounted with `options`."""
    testbed = f"{Path(sys.executable).parent}/testbed run {scenario} --seed 1 --into {folder}"
    script = f"mount -t tmpfs -o {options} none {folder} && exec {testbed}"
    folder.mkdir()
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_full_disk_is_told_before_anything_runs(scenario: Path, tmp_path: Path) -> None:
    done = _mounted("size=1m", scenario, tmp_path / "small")
    assert done.returncode == 1
    assert "MiB free, this run may need" in done.stderr and "Traceback" not in done.stderr


def test_a_read_only_folder_is_named(scenario: Path, tmp_path: Path) -> None:
    done = _mounted("ro", scenario, tmp_path / "read-only")
    assert done.returncode == 1
    assert "cannot be written (Read-only file system)" in done.stderr and "Traceback" not in done.stderr


def test_a_host_whose_shared_memory_is_noexec_does_not_matter(scenario: Path, tmp_path: Path) -> None:
    """A guest's memory lies in a tmpfs of its sandbox."""
    testbed = f"{Path(sys.executable).parent}/testbed run {scenario} --seed 1 --into {tmp_path / 'runs'}"
    script = f"mount -t tmpfs -o noexec none /dev/shm && exec {testbed}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_bad_input_gets_one_message_and_starts_nothing(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = scenario.read_text()
    for wrong, right, words in (
        ("implementation: tcp-ledbta", "implementation: tcp-ledbat", "did you mean tcp-ledbat"),
        ("rate: 10,", "rate: 10mbit,", "bottleneck.rate"),
        ("forward: -25ms", "forward: 25ms", "delay.forward"),
        ("at: 50s", "at: 2s", "not before the end"),
    ):
        scenario.write_text(good.replace(right, wrong))
        assert main(["run", str(scenario), "--seed", "1", "--into", str(tmp_path / "runs")]) == 2
        told = capsys.readouterr().err
        assert words in told and str(scenario) in told and "Traceback" not in told
    assert not (tmp_path / "runs").exists()


def test_images_that_were_never_built_are_asked_for(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine import images

    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "empty"))
    images.load.cache_clear()
    try:
        with pytest.raises(EngineError, match=r"make images"):
            execute(resolve(cell, 1), tmp_path)
    finally:
        images.load.cache_clear()


def test_sandbox_needs_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine import sandbox

    monkeypatch.setattr(shutil, "which", lambda _: None)
    sandbox.bubblewrap.cache_clear()
    try:
        with pytest.raises(EngineError, match=r"bubblewrap is not installed.*testbed doctor"):
            sandbox.bubblewrap()
    finally:
        sandbox.bubblewrap.cache_clear()
