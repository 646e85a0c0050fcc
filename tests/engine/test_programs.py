"""Programs under test: what a good endpoint leaves, and how each kind of bad one fails its own run only."""

import json
import math
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from analysis.__main__ import main as analyse
from analysis.capture.columns import write_columns
from analysis.run import Run
from engine import images as built
from engine import progress
from engine.errors import EngineError
from engine.images import PROJECT
from engine.run import execute, run_folder
from engine.sandbox import PROGRAMS
from scenarios.resolve import expand, resolve
from testbed.check import command as check
from testbed.cli import main
from tests.analysis.browser import unsound_by_itself
from tests.trial import trial

TOY = Path(__file__).with_name("toy")
SCENARIO = """\
experiment: toy
title: A toy sends
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: it, implementation: FLAW, from: s1, to: d1, start: 100ms}]
duration: 3s
captures: [bottleneck-out]
"""

PCAP_HEADER_BYTES = 24

Toy = Callable[[str], Path]


@pytest.fixture
def toy(own_implementations: Path, program: Callable[[str], None], tmp_path: Path) -> Toy:
    """Builds a toy with a flaw as the only implementation; returns a scenario with one flow of it."""
    folder = own_implementations
    shutil.copytree(TOY, folder / "toy")

    def build(flaw: str) -> Path:
        name = flaw.replace(" ", "-")
        (folder / name).mkdir()
        if flaw == "has a strange first line":
            (folder / name / "endpoint").write_text("#!/usr/bin/python2.7\n")
            (folder / name / "endpoint").chmod(0o755)
        (folder / name / "implementation.yaml").write_text("extends: toy\n")
        (folder / name / "flaw").write_text(flaw)
        program(name)
        return trial(tmp_path / name, SCENARIO.replace("FLAW", name))

    return build


def _run(scenario: Path, into: Path) -> tuple[dict[str, object], Path]:
    (cell,) = expand(scenario, "complete")
    return execute(resolve(cell, 1), into), run_folder(into, cell, 1)


def test_a_flow_without_end_is_cut_off(toy: Toy, tmp_path: Path) -> None:
    summary, folder = _run(toy("none"), tmp_path)
    flow = json.loads((folder / "summary.json").read_text())["flows"]["it"]
    # a block each millisecond, less the handshake and what was under way at the end
    assert 2_600 * 1024 < flow["received_bytes"] <= 2_900 * 1024
    assert (flow["sender_exit"], flow["receiver_exit"]) == (0, 0)
    assert summary["versions"] == {"none": "1"}
    assert json.loads((folder / "run.json").read_text())["provenance"]["program:none"]["digest"]


def test_two_implementations_meet(toy: Toy, tmp_path: Path) -> None:
    scenario, _ = toy("none"), toy("says nothing")
    text = scenario.read_text()
    scenario.write_text(text.replace("none", "{sender: none, receiver: says-nothing}"))
    summary, folder = _run(scenario, tmp_path / "well")  # as a sender it would say nothing
    assert summary["versions"] == {"none": "1", "says-nothing": "1"}
    sides = json.loads((folder / "run.json").read_text())["flows"][0]
    assert (sides["implementation"], sides["receiver_implementation"]) == ("none", "says-nothing")
    scenario.write_text(text.replace("none", "{sender: says-nothing, receiver: none}"))
    with pytest.raises(EngineError, match="its receiver got no byte, though its host accepted a connection"):
        _run(scenario, tmp_path / "badly")


def test_a_receiver_without_a_byte_over_utp_tells_what_came_to_its_host(
    program: Callable[[str], None], tmp_path: Path
) -> None:
    program("libutp")
    # what its host accepts over TCP, such as a client's remote control, says nothing about the flow
    text = SCENARIO.replace("FLAW", "libutp") + "events: [{at: 0s, on: path, loss: {forward: 100%}}]\n"
    with pytest.raises(EngineError, match="flow it: its receiver got no byte; datagrams that came to its host: 0"):
        _run(trial(tmp_path / "nothing", text), tmp_path / "runs")


def test_a_flow_with_bytes_is_done_when_they_are_there(toy: Toy, tmp_path: Path) -> None:
    scenario = toy("none")
    scenario.write_text(scenario.read_text().replace("start: 100ms", "start: 100ms, bytes: 100001B"))
    summary, _ = _run(scenario, tmp_path)
    flow = summary["flows"]["it"]  # type: ignore[index]
    assert flow["received_bytes"] == 100_001
    assert 0.3e9 < flow["completed_ns"] < 0.5e9


@pytest.mark.parametrize(
    ("flaw", "sentence"),
    [
        ("never connects", "its receiver got no byte; connections that its sender's host tried to open: 0"),
        (
            "listens elsewhere",
            r"sender exited with 1: ConnectionRefusedError: \[Errno 111\] Connection refused; nothing listened at TCP "
            r"port (\d+) of d1, but something at 0\.0\.0\.0 port \d+",
        ),
        ("listens to itself", r"nothing listened at TCP port (\d+) of d1, but something at 127\.0\.0\.1 port \1"),
        ("has a strange first line", "its root lacks the program that its first line names, #!/usr/bin/python2.7"),
        ("says nothing", "flow it: its receiver got no byte, though its host accepted a connection"),
        ("ends early", r"flow it: sender ended by itself at 0\.\d{3} s, before its flow's end"),
        ("crashes", "flow it: sender exited with 1: out of luck"),
        ("wrong bytes", r"flow it: receiver exited with 1: wrong bytes after offset \d+"),
        (
            "tells no version",
            "tells-no-version: its version_command `/opt/implementation/endpoint --version` exited with 1: no version",
        ),
        ("ignores SIGTERM", "flow it: sender still ran 1 s after SIGTERM"),
        (
            "takes all memory",
            r"flow it: sender was ended by SIGKILL; the guest's memory of \d+ MiB ran out, and its kernel killed",
        ),
        (
            "fills the disk",
            r"its run folder takes \d+ MiB, this run may take \d+ MiB; the largest file is 'logs/it.sender/log'",
        ),
    ],
)
def test_a_bad_endpoint_fails_its_run_with_a_sentence(toy: Toy, tmp_path: Path, flaw: str, sentence: str) -> None:
    scenario = toy(flaw)
    with pytest.raises(EngineError, match=sentence):
        _run(scenario, tmp_path / "runs")
    assert [path.name for path in (tmp_path / "runs/trial/toy/single").iterdir()] == ["failed-seed-1"]


@pytest.mark.parametrize(
    ("flaw", "endpoint", "ending", "says"),
    [
        ("dies", "sender", "died", "sender was ended by SIGSEGV"),
        ("crashes", "sender", "gave up", "sender exited with 1: out of luck"),
        ("ends early", "sender", "gave up", "sender ended by itself at"),
        ("refuses", "receiver", "refused", "receiver exited with 127"),
        ("ignores SIGTERM", "sender", "hung", "sender still ran 1 s after SIGTERM"),
        ("says nothing", "receiver", "incomplete", "its receiver got no byte, though its host accepted a connection"),
    ],
)
def test_the_end_of_a_flow_that_may_fail_is_a_result(
    toy: Toy, tmp_path: Path, flaw: str, endpoint: str, ending: str, says: str
) -> None:
    scenario = toy(flaw)
    scenario.write_text(scenario.read_text().replace("start: 100ms", "start: 100ms, may_fail: true"))
    summary, folder = _run(scenario, tmp_path / "runs")
    assert (summary["status"], summary["ended_ns"]) == ("ok", 3_000_000_000)
    run = Run(folder)
    outcome = run.outcomes("it")[0]
    assert (outcome.endpoint, outcome.ending, outcome.says.startswith(says)) == (endpoint, ending, True)
    assert run.ended("it") == run.ended("it", ending) == outcome.at_s
    assert run.ended("it", "died") == (outcome.at_s if ending == "died" else math.inf)


def test_a_second_connection_is_seen(toy: Toy, tmp_path: Path) -> None:
    scenario = toy("connects again")
    scenario.write_text(scenario.read_text().replace("[bottleneck-out]", "[sender]"))
    _, folder = _run(scenario, tmp_path / "runs")
    write_columns(folder)
    run = Run(folder)
    assert run.outcomes("it") == []
    assert run.connections("it").count() == 2
    [again_s] = run.reconnections("it").times
    assert 0.15 < again_s < 0.4


def test_one_that_spins_is_named_and_the_next_run_goes_on(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "STANDSTILL_S", 12.0)
    scenario, good = toy("spins"), toy("none")
    scenario.write_text(
        scenario.read_text()
        .replace("flows: ", "cases: {bad: {}, good: {flows: GOOD}}\nflows: ")
        .replace("GOOD", good.read_text().partition("flows: ")[2].partition("\n")[0])
    )
    assert main(["run", str(scenario), "--seed", "1", "--into", str(tmp_path / "runs")]) == 1
    told = capsys.readouterr()
    assert re.search(r"endpoint \(process \d+\) computes without ever sleeping", told.err)
    assert "trial/toy/case=good/seed-1: 3 s in" in told.out


def test_a_program_that_was_never_built_is_asked_for(toy: Toy, tmp_path: Path) -> None:
    scenario = toy("none")
    built.index_of("none").unlink()
    with pytest.raises(EngineError, match=r"none has not been built .*: `python -m images none` does that"):
        _run(scenario, tmp_path)
    assert main(["check", "none"]) == 2


def test_in_a_container_what_boots_is_asked_of_its_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_IN_ITS_CONTAINER", "1")
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    with pytest.raises(EngineError, match=r"`IMAGES=--lab docker-compose build reproduce` on the container's host"):
        built.load.__wrapped__("lab")


def test_only_what_a_run_uses_is_shown_to_its_guest(toy: Toy) -> None:
    from engine import sandbox

    toy("none")
    boot, program = built.load(), built.program("none")
    alone, shown = (
        sandbox.command(boot, used, PROJECT, ["true"], sandbox.Limits(), {}) for used in ({}, {"none": program})
    )
    assert not [word for word in alone if word.startswith(PROGRAMS)]
    assert {word for word in shown if word.startswith(PROGRAMS)} == {
        f"{PROGRAMS}/none/{it}" for it in ("files", "root")
    }


def test_without_a_sandbox_a_path_that_no_kernel_takes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine import sandbox

    monkeypatch.setenv(sandbox.UNCONFINED, "1")
    folder = tmp_path / "a b"
    folder.mkdir()
    with pytest.raises(EngineError, match=r"found the folder '.*/a b'; allowed without a sandbox .*without blanks"):
        sandbox.command(built.load(), {}, folder, ["true"], sandbox.Limits(), {})


@pytest.mark.parametrize(
    ("flaw", "wrong"),
    [
        ("none", {}),
        ("ignores parameters", {"unknown parameter": "it was ignored"}),
        ("keeps nothing", {"transfers 1 MB": "has not put what arrived"}),
        ("waits for 20 s", {"waits half a minute": "flow checked gave up: receiver exited with 1"}),
    ],
)
def test_check_says_what_is_wrong(toy: Toy, tmp_path: Path, flaw: str, wrong: dict[str, str]) -> None:
    toy(flaw)
    into = tmp_path / "checked"
    into.mkdir()
    verdicts = {finding.demand: finding.wrong for finding in check.check(flaw.replace(" ", "-"), into)}
    assert len(verdicts) == 5
    for demand, words in verdicts.items():
        expected = next((expected for name, expected in wrong.items() if name in demand), None)
        assert (words is None) == (expected is None), words
        assert expected is None or expected in str(words)


def test_check_says_what_a_sender_sends_beyond_the_transfer(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy("none")
    monkeypatch.setattr(check, "_SCENARIO", check._SCENARIO + "events: [{{at: 0s, on: path, loss: {{forward: 5%}}}}]\n")
    monkeypatch.setattr(check, "_LOST_IN_SLOW_START", 0.02)
    assert main(["check", "none", "--into", str(tmp_path / "checks")]) == 0
    said = r"its sender sent 1,0\d\d,\d{3} bytes of data for 1,000,000, \d % more"
    assert re.search(rf"^wastes {said}$", capsys.readouterr().out, re.MULTILINE)
    assert len(re.findall(said, (tmp_path / "checks/none/index.html").read_text(), re.IGNORECASE)) == 2


def test_check_compares_the_transport_with_the_packets(toy: Toy, own_implementations: Path, tmp_path: Path) -> None:
    toy("none")
    (own_implementations / "none/implementation.yaml").write_text("extends: toy\ntransport: udp\n")
    assert next(check.check("none", tmp_path)).wrong == "its packets are tcp; allowed: udp, as its `transport` says"


@pytest.mark.parametrize(
    ("flaw", "told"),
    [
        ("keeps a hole", f"the {200 << 20} bytes in PAYLOAD differ from the payload"),
        ("keeps a folder", "the receiver has not put what arrived into the file PAYLOAD"),
    ],
)
def test_check_takes_nothing_odd_for_what_arrived(toy: Toy, tmp_path: Path, flaw: str, told: str) -> None:
    """Nor does it read a huge file into memory."""
    toy(flaw)
    tracemalloc.start()
    wrong = next(check.check(flaw.replace(" ", "-"), tmp_path)).wrong
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert wrong == told
    assert most_bytes < 100 << 20


def test_check_makes_a_page_with_the_sentence_and_what_was_left(
    toy: Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy("crashes")
    assert main(["check", "crashes", "--into", str(tmp_path / "checks")]) == 1
    said = capsys.readouterr().out
    named = re.search(r"sender exited with 1: out of luck \(logs in (\S+)\)", said)
    assert named
    page = tmp_path / "checks/crashes/index.html"
    assert said.endswith(f"page   {page}\n")
    text = page.read_text()
    assert "crashes fails 3 of 5 demands" in text
    assert "Flow checked gave up: sender exited with 1: out of luck." in text
    links = [page.parent / unquote(link) for link in re.findall(r'<a href="(runs/[^"]+)"', text)]
    log, capture = (next(link for link in links if link.name == name) for name in ("checked.sender.err", "sender.pcap"))
    assert log == Path(named[1], "checked.sender.err")
    assert log.read_text() == "out of luck\n"
    assert capture.stat().st_size > PCAP_HEADER_BYTES
    assert all(link.exists() for link in links)
    assert unsound_by_itself(page) == []


def test_check_replaces_nothing_but_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "tcp-reno/precious"
    precious.parent.mkdir()
    precious.touch()
    assert main(["check", "tcp-reno", "--into", str(tmp_path)]) == 2
    assert "found other files; allowed: a new folder, or the folder of an earlier check" in capsys.readouterr().err
    assert precious.exists()


@pytest.mark.parametrize(("end", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_check_keeps_what_it_found(tmp_path: Path, end: signal.Signals, status: int) -> None:
    command = [str(Path(sys.executable).with_name("testbed")), "check", "tcp-reno", "--into", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("ok     transfers 1 MB")
        process.send_signal(end)
        said, complaint = process.communicate(timeout=60)
    assert process.returncode == status
    assert complaint.endswith("ed; the findings stand above\n")
    assert said == f"page   {tmp_path}/tcp-reno/index.html\n"
    assert "tcp-reno was checked in part" in (tmp_path / "tcp-reno/index.html").read_text()
    assert (tmp_path / "tcp-reno/runs/transfer/check/check/single/seed-1/pcap/sender.pcap").exists()


def test_the_page_that_adds_a_client_shows_one_that_keeps_the_contract(
    own_implementations: Path,
    program: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    page = (PROJECT / "docs" / "howto" / "adding-a-client.md").read_text()
    shown = dict(re.findall(r"`images/implementations/(mine/[\w.]+)`.*?```\w+\n(.*?)```", page, re.DOTALL))
    assert set(shown) == {"mine/implementation.yaml", "mine/endpoint"}
    (own_implementations / "mine").mkdir()
    for name, text in shown.items():
        (own_implementations / name).write_text(text)
    (own_implementations / "mine/endpoint").chmod(0o755)
    program("mine")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "mine"]) == 0
    assert f"```\n{capsys.readouterr().out}```" in page

    [(name, scenario)] = re.findall(r"`(trial/mine.yaml)`:\n\n```yaml\n(.*?)```", page, re.DOTALL)
    Path(name).parent.mkdir()
    Path(name).write_text(scenario)
    [run] = re.findall(r"^testbed (run .*)$", page, re.MULTILINE)
    assert main(run.split()) == 0
    [observe] = re.findall(r"^testbed (observe .*)$", page, re.MULTILINE)
    assert analyse(observe.split()) == 0


def test_check_knows_only_implementations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "libutq"]) == 2
    assert "did you mean libutp?" in capsys.readouterr().err
