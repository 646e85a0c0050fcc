"""`testbed gate`: budgets that are wrong, how runs are judged, and one real gate as docs/howto/gate.md shows it."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.errors import BadInputError
from analysis.judge.statement import SIGNS
from analysis.report.formats import texts_with_unit
from images.cache import file_digest
from scenarios.resolve import expand
from testbed import own_study
from testbed.cli import main
from testbed.gate import budgets, judge, reports
from testbed.gate.command import DEFAULT, DEFAULT_UDP, default_for, prepare
from testbed.shared.panel import panel, point
from testbed.shared.units import unit
from tests.analysis.synthetic import end, plain, write

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "gate.md").read_text()
SCENARIO = """\
experiment: made-by-hand
title: A short race
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p}
matrix: {client: [tcp-ledbat]}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: client, implementation: "${client}", from: s1, to: d1}
  - {name: tcp, implementation: tcp-cubic, from: s2, to: d2, start: 2s}
duration: 9s
"""


PROC = Path("/proc")


SIGNED = re.compile("(.*) (<=|>=|<|>) (.*)")
FIELDS = {sign: name for name, sign in SIGNS.items()}


def budget(name: str, holds: str, **more: Any) -> dict[str, Any]:
    signed = SIGNED.fullmatch(holds)
    assert signed
    measure, sign, limit = signed.groups()
    return {"id": name, "scenario": "race.yaml", "measure": measure, FIELDS[sign]: yaml.safe_load(limit), **more}


def put(folder: Path, *wanted: dict[str, str]) -> Path:
    """A file of budgets, and the scenario that they speak of."""
    (folder / "race.yaml").write_text(SCENARIO)
    path = folder / "budgets.yaml"
    path.write_text(yaml.safe_dump({"statements": list(wanted)}))
    return path


def test_the_page_names_the_fields() -> None:
    fields = budgets.FORM.schema()["properties"]
    named = (*fields, *fields["statements"]["items"]["properties"])
    assert [field for field in named if f"`{field}`" not in PAGE] == []


def test_the_examples_on_the_page_are_read(tmp_path: Path) -> None:
    shown = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "budgets.yaml").write_text(shown[0])
    for file in (tmp_path / "budgets.yaml", DEFAULT, DEFAULT_UDP):
        asked = budgets.load(file)
        assert {budget.scenario for budget in asked.budgets} <= {scenario.stem for scenario in panel()}
    (tmp_path / "budgets.yaml").write_text(shown[1])
    [compared] = budgets.load(tmp_path / "budgets.yaml").budgets
    assert (compared.id, compared.scenario, compared.no_worse_than) == (
        "as good as 2.0.9",
        "against-tcp",
        "libtorrent@2.0.9",
    )
    assert [next(iter(yaml.safe_load(text))) for text in shown[2:]] == ["versions", True, "gate"]  # `on` is true


def test_each_of_the_22_cases_of_bbr_has_a_budget() -> None:
    folder = Path(__file__).parents[2] / "workflows" / "rulebooks" / "bbr"
    cells: list[str] = []
    for statements, cases in (("statements", "cases"), ("limited", "limited-cases")):
        asked = budgets.load(folder / f"{statements}.yaml")
        own = [point(cell.name) for cell in expand(folder / f"{cases}.yaml", "complete")]
        assert {f"case={case}" for budget in asked.budgets for case in budget.cells["case"]} == {*own}
        cells += own
    names = sorted(cell.removeprefix("case=") for cell in cells)
    assert [int(name.partition("-")[0]) for name in names] == list(range(1, 23))
    assert f"`{names[0]}` to `{names[-1]}`" in " ".join(PAGE.split())


def test_the_transport_chooses_the_default_budgets() -> None:
    assert [default_for(name) for name in ("libutp", "tcp-cubic", "quic-go")] == [DEFAULT, DEFAULT, DEFAULT_UDP]


def test_budgets_ask_for_no_more_seeds_than_a_scenario_may(tmp_path: Path) -> None:
    file = put(tmp_path, budget("a", "queue_ms.mean() < 2"))
    file.write_text("seeds: 100001\n" + file.read_text())
    with pytest.raises(BadInputError, match=r"budgets.yaml:1: seeds: found 100001; allowed: 100000 or fewer"):
        budgets.load(file)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (budget("a", "qeue_ms.mean() < 1"), "unknown word 'qeue_ms' (did you mean queue_ms?)"),
        (budget("a", 'shared("jain") < 1'), "found shared('jain'), not one of throughput, share, fairness"),
        (budget("a", "queue_ms > 3"), "statements[0].measure: a series stands where only a number can; allowed: an"),
        (budget("a", "1 < 2 > 3"), "statements[0].measure: true or false stands where only a number can"),
        (budget("a", "throughput() > 3"), "statements[0].measure: throughput(flow, t0, t1) lacks flow; allowed: an ex"),
        (
            budget("a", "queue_ms.mean() / 0 < 5"),
            "statements[0].measure: found 'queue_ms.mean() / 0', which divides by zero; allowed: an",
        ),
        (
            budget("a", 'ended("client", "wrong") < 5'),
            "statements[0].measure: found 'wrong', no end (died, gave up, refused",
        ),
        (budget("a", "1 < 2"), "statements[0].measure: found '1', which measures nothing"),
        (budget("a", 'share("client") < 20'), "statements[0].below: found 20, while the measure is a share, 0 to 1"),
        ({"id": "a", "measure": "1", "below": 2}, "statements[0].scenario: missing"),
        (budget("a", "1 < 2", no_worse_than="tcp-reno"), "statements[0]: found measure and no_worse_than;"),
        (
            {"id": "a", "scenario": "race.yaml", "no_worse_than": "tcp-reno"},
            "seeds: found 1; allowed: 4 or more, so that a test can show a difference",
        ),
    ],
)
def test_what_is_wrong_with_budgets(wanted: dict[str, str], message: str, tmp_path: Path, capsys: Any) -> None:
    file = put(tmp_path, wanted)
    with pytest.raises(BadInputError) as error:
        budgets.load(file)
    assert str(error.value).startswith(f"{file}:")
    assert message in str(error.value)
    assert main(["gate", str(file), "--client", "tcp-ledbat", "--into", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--client", "tcp-ledbta"], "unknown implementation 'tcp-ledbta'; allowed: "),
        ([], "names no client, and found no name; allowed: one, or one --implementation FOLDER"),
        (["--client", ""], "unknown implementation ''; allowed: "),  # of a variable that is not set
        (["--client", "tcp-ledbat", "--history", "/dev/null/a"], "--history: /dev/null/a cannot be written: "),
    ],
)
def test_a_wrong_order_is_one_message(words: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    file = put(tmp_path, budget("a", "queue_ms.mean() < 1"))
    assert main(["gate", str(file), *words, "--into", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err


def test_a_client_is_not_compared_with_itself(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "budgets.yaml"
    file.write_text("seeds: 4\nstatements: [{id: a, scenario: alone, no_worse_than: tcp-reno}]")
    assert main(["gate", str(file), "--client", "tcp-reno", "--into", str(tmp_path / "out")]) == 2
    assert f"{file}:2: statements[0].no_worse_than: found 'tcp-reno', the client itself;" in capsys.readouterr().err


def test_a_second_gate_waits_before_it_changes_what_the_first_one_runs(tmp_path: Path) -> None:
    file = put(tmp_path, budget("a", "queue_ms.mean() < 1"))
    folder = tmp_path / "out" / "tcp-ledbat"
    with own_study.alone(folder):
        words = ["gate", str(file), "--client", "tcp-ledbat", "--into", str(folder.parent)]
        command = [sys.executable, "-P", "-m", "testbed", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as second:
            assert second.stderr
            assert second.stderr.readline().startswith(f"Waiting for process {os.getpid()} (`")
            assert [path.name for path in folder.iterdir()] == [".lock"]
            second.terminate()


def test_a_wrong_cell_is_told_before_anything_runs(tmp_path: Path, capsys: Any) -> None:
    file = put(tmp_path, budget("a", "queue_ms.mean() < 1") | {"scenario": "alone", "in": {"case": "11mbit"}})
    assert main(["gate", str(file), "--client", "tcp-ledbat", "--into", str(tmp_path / "out")]) == 2
    message = f"{file}:2: statements[0].in: found case: 11mbit; allowed: case=1mbit, case=10mbit, case=50mbit"
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A finished run that was made by hand: two flows of which every packet waits 3 ms."""
    made = plain()
    made.flows, made.cell = ("client", "tcp"), "client=tcp-ledbat"
    write_columns(write(tmp_path / "results" / "runs", made))
    study = tmp_path / "results" / "studies" / "gate"
    study.mkdir(parents=True)
    (study / "race.yaml").write_text(SCENARIO)
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("holds", "result", "measured", "status"),
    [
        ('shared("throughput") < 7', "holds", pytest.approx(6, rel=0.01), 0),
        ('shared("throughput") > 7', "does not hold", pytest.approx(6, rel=0.01), 1),
        ('drops("client").count() <= 3', "holds", 3, 0),
        ('drops("tcp").first(6) < 9', "does not hold", None, 1),  # it never happens
        ('drops("tcp").first(6) - drops("tcp").first(7) < 9', "cannot be tested", None, 2),
        ('0 - 1 < drops("tcp").first(6) - drops("tcp").first(7)', "cannot be tested", None, 2),
        ('1 / drops("tcp").first(6) < 9', "cannot be tested", None, 2),
        ('drops("tcp").first(6) <= drops("tcp").first(7)', "cannot be tested", None, 2),  # neither came
        ('drops("tcp").first(7) >= drops("tcp").first(6)', "cannot be tested", None, 2),
        ('drops("tcp").first(6) >= never', "holds", None, 0),
        ('drops("client").first(0) >= never', "does not hold", pytest.approx(5, abs=5), 1),
        ('max(cwnd("tcp").at(drops("tcp").first(6)), 3) > 2', "cannot be tested", None, 2),
        ("1e308 * 10 + duration > 5", None, None, 2),
        ('cwnd("tcp").at(drops("tcp").first(6)) > 0', "cannot be tested", None, 2),
        ('cwnd("tcp").mean(0, drops("tcp").first(6)) > 0', "cannot be tested", None, 2),
        ('shared("time to yield") < 9', "cannot be tested", None, 2),  # both start together
        ("base_delay_ms('nobody').mean() < 9", None, None, 2),
    ],
)
def test_how_runs_are_judged(
    results: Path, tmp_path: Path, holds: str, result: str | None, measured: Any, status: int
) -> None:
    file = put(tmp_path, budget("it", holds))
    history = tmp_path / "history.jsonl"
    if result is None:
        with pytest.raises(BadInputError, match=r"nobody|too large"):
            judge.judge(budgets.load(file), results, "tcp-ledbat")
        return
    for _ in range(2):
        judgement = judge.judge(budgets.load(file), results, "tcp-ledbat")
        reports.remember(judgement, history)
    reports.write(judgement, results, "testbed gate")
    assert judgement.status == status
    [outcome] = json.loads((results / "gate.json").read_text())["outcomes"]
    assert (outcome["verdict"], outcome["measured"], outcome["cell"]) == (result, measured, "single")
    suite = ElementTree.parse(results / "junit.xml").getroot()  # noqa: S314 (written here)
    counts = ("1", "1" if result == "does not hold" else "0", "1" if result == "cannot be tested" else "0")
    assert tuple(suite.attrib[name] for name in ("tests", "failures", "errors")) == counts
    assert f"1 {result}" in (results / "gate.md").read_text()
    assert "of the one seed that ran" in (results / "index.html").read_text()
    assert [json.loads(line)["client"] for line in history.read_text().splitlines()] == ["tcp-ledbat"] * 2


@pytest.mark.parametrize(("client", "other", "status"), [("tcp-reno", "tcp-cubic", 1), ("tcp-cubic", "tcp-reno", 0)])
def test_no_worse_than_another(tmp_path: Path, client: str, other: str, status: int) -> None:
    """Beside TCP a larger share is worse: tcp-reno sends twice as many packets here."""
    for name, every in (("tcp-reno", 1), ("tcp-cubic", 2)):
        for seed in range(1, 5):
            made = plain()
            made.flows, made.cell, made.seed = ("client", "tcp"), f"client={name}", seed
            own = [packet for packet in made.packets if packet.flow == 0][::every]
            made.packets = [packet for packet in made.packets if packet.flow == 1] + own
            made.packets.sort(key=lambda packet: packet.arrives)
            write_columns(write(tmp_path / "results" / "runs", made))
    study = tmp_path / "results" / "studies" / "gate"
    study.mkdir(parents=True)
    (study / "race.yaml").write_text(SCENARIO)
    file = put(tmp_path, {"id": "as before", "scenario": "race.yaml", "no_worse_than": other})
    file.write_text("seeds: 4\n" + file.read_text())
    judgement = judge.judge(budgets.load(file), tmp_path / "results", client)
    assert judgement.status == status
    [outcome] = judgement.outcomes
    worse = "share, shared: 80 instead of 66.6 % (p = 0.029)"
    assert (worse in outcome.why) is bool(status)


@pytest.mark.parametrize(
    ("holds", "result", "says"),
    [
        ('shared("throughput") < 7', "does not hold", "the client gave up at 4.200 s: sender exited with 1: no luck"),
        ('ended("client", "gave up") < 5', "holds", "= 4.20 s, allowed below 5 s; gave up at 4.200 s"),
        ('ended("client", "died") < 5', "does not hold", "the client gave up at 4.200 s"),
        ('ended("client", "died") > 3', "does not hold", "the client gave up at 4.200 s"),  # in another way
        ('ended("client", how="died") > 3', "does not hold", "the client gave up at 4.200 s"),
        ('ended("client", "di" + "ed") > 3', "does not hold", "the client gave up at 4.200 s"),
        ('ended("tcp") > 3', "does not hold", "the client gave up at 4.200 s"),
        ('ended("client") > 3', "holds", "= 4.20 s, allowed above 3 s; gave up at 4.200 s"),
        ('(0 - ended("client")) ** 0.5 < 5', None, "found a complex number; allowed: a real number"),
        ('ended("client", "corrupted") < 5', "does not hold", "the client gave up at 4.200 s"),
    ],
)
def test_how_a_client_ends_is_a_result(
    results: Path, tmp_path: Path, holds: str, result: str | None, says: str
) -> None:
    [folder] = (results / "runs").glob("*/*/*/seed-1")
    end(folder, 4.2)
    wanted = budgets.load(put(tmp_path, budget("it", holds)))
    if result is None:
        with pytest.raises(BadInputError, match=rf"budgets.yaml:\d: statements\[0\].measure: .*{says}"):
            judge.judge(wanted, results, "tcp-ledbat")
        return
    judgement = judge.judge(wanted, results, "tcp-ledbat")
    [judged] = judgement.outcomes
    assert judged.verdict == result
    assert says in judged.why
    reports.write(judgement, results, "testbed gate")
    told = ElementTree.parse(results / "junit.xml").getroot().find("*/failure")  # noqa: S314 (written here)
    assert (None if told is None else told.attrib["type"]) == ("gave up" if result == "does not hold" else None)


def test_only_the_points_that_budgets_name_are_run(tmp_path: Path) -> None:
    named = budget("a", "queue_ms.mean() < 1") | {"scenario": "alone", "in": {"case": "10mbit"}}
    both = [named, named | {"id": "b", "in": {"case": "1mbit"}}]
    for chosen, points in (([named], ["10mbit"]), (both, ["1mbit", "10mbit"])):
        wanted = budgets.load(put(tmp_path, *chosen))
        folder, texts = prepare(wanted, "tcp-ledbat", tmp_path / "out", tmp_path)
        own_study.write(folder, "gate", texts)
        cells = expand(folder / "studies" / "gate" / "alone.yaml", "complete")
        assert [cell.name for cell in cells] == [f"case={name},client=tcp-ledbat" for name in points]
        assert all(cell.settings["flows"][0]["may_fail"] for cell in cells)


def test_the_end_of_a_client_is_a_result_in_a_case_with_its_own_flows(tmp_path: Path) -> None:
    case = 'cases: {short: {flows: [{name: client, implementation: "${client}", from: s1, to: d1, bytes: 1MB}]}}\n'
    (tmp_path / "own.yaml").write_text((panel()[0].parent / "against-tcp.yaml").read_text() + case)
    wanted = budgets.load(put(tmp_path, budget("a", "queue_ms.mean() < 1") | {"scenario": "own.yaml"}))
    folder, texts = prepare(wanted, "tcp-ledbat", tmp_path / "out", tmp_path)
    own_study.write(folder, "gate", texts)
    [cell] = expand(folder / "studies" / "gate" / "own.yaml", "complete")
    assert cell.settings["flows"][0]["may_fail"]


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("queue_ms.percentile(95, 10)", "ms"),
        ('shared("time to yield")', "s"),
        ('alone("throughput")', "Mbit/s"),
        ("queue_ms.slope()", ""),
        ('drops("client").count()', ""),
        ('throughput("client") / 2', ""),
        ('throughput("client", 35, 45) / 1e6', "Mbit/s"),
        ("100 * loss_rate(15, 30)", "%"),
        ("queue_ms.mean() / queue_ms.max()", ""),
        ("queue_ms.mean() / 0", ""),
    ],
)
def test_numbers_have_units(expression: str, shown: str) -> None:
    assert unit(expression) == shown


@pytest.mark.parametrize(
    ("values", "in_unit", "texts"),
    [
        ((9.95353, 9), "Mbit/s", ["9.95 Mbit/s", "9 Mbit/s"]),
        ((9.00021, 9), "Mbit/s", ["9.0002 Mbit/s", "9 Mbit/s"]),
        ((1, 2), "packets", ["1 packet", "2 packets"]),
        ((math.inf, 5), "s", ["never", "5 s"]),
        ((0.65, 0.65), "", ["0.650", "0.650"]),
    ],
)
def test_numbers_look_different_where_they_are(values: tuple[float, float], in_unit: str, texts: list[str]) -> None:
    assert texts_with_unit(values, in_unit) == texts


def test_a_real_gate(tmp_path: Path) -> None:
    file = put(
        tmp_path,
        budget("fills the link", "utilization(1, 9) > 0.9"),
        budget("gives way", 'shared("share") < 1'),
    )
    words = ["gate", str(file), "--client", "tcp-cubic", "--into", str(tmp_path)]
    command = [f"{Path(sys.executable).parent}/testbed", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {
        outcome["id"]: outcome["verdict"]
        for outcome in json.loads((tmp_path / "tcp-cubic/gate.json").read_text())["outcomes"]
    }
    assert outcomes == {"fills the link": "holds", "gives way": "does not hold"}
    assert "does not hold: gives way (race.yaml): " in done.stdout


# over UDP: 1000 bytes every 2 ms, counted where they arrive; a sender does ENDING in its third second
UDP_CLIENT = """\
#!/usr/bin/env python3
import os, signal, socket, sys, time

def end(*_):
    if os.environ["ROLE"] == "receiver":
        open(os.environ["LOGDIR"] + "/received_bytes", "w").write(str(1000 * count))
    os._exit(0)

if sys.argv[1:] == ["--version"]:
    sys.exit(print("mine 1"))
signal.signal(signal.SIGTERM, end)
count, port = 0, int(os.environ["PORT"])
over = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if os.environ["ROLE"] == "receiver":
    over.bind(("", port))
while os.environ["ROLE"] == "receiver":
    over.recv(2000)
    count += 1
while True:
    over.sendto(count.to_bytes(8, "big") * 125, (os.environ["PEER"], port))
    count += 1
    time.sleep(0.002)
    if count == 1000:
        ENDING
"""
ENDINGS = {
    "pass": r"holds: keeps its rate \(race.yaml\): throughput",
    "sys.exit('nobody answers')": r"does not hold: .*: the client gave up at 2\.\d+ s: .*: nobody answers",
    "os.kill(os.getpid(), signal.SIGSEGV)": r"does not hold: .*: the client died at 2\.\d+ s: sender",
    "sys.exit(127)": r"does not hold: .*: the client refused at 2\.\d+ s: sender exited with 127",
}


def test_a_real_gate_of_commits_and_an_archive(tmp_path: Path) -> None:
    """Each commit of a client over UDP ends otherwise; the archive has the last one, and the working tree has none."""
    mine = tmp_path / "client" / "testing" / "mine"
    mine.mkdir(parents=True)
    about = {"title": "Datagrams", "kind": "program", "roles": ["sender", "receiver"], "transport": "udp"}
    about |= {"licence": "MIT", "source": "here", "version_command": ["/opt/implementation/endpoint", "--version"]}
    (mine / "implementation.yaml").write_text(yaml.safe_dump(about))
    git(tmp_path, "init", "-q", "client")
    given = []
    for ending in ENDINGS:
        (mine / "endpoint").write_text(UDP_CLIENT.replace("ENDING", ending))
        (mine / "endpoint").chmod(0o755)
        git(tmp_path / "client", "add", ".")
        git(tmp_path / "client", "commit", "-qm", ending)
        given.append(f"{tmp_path}/client@{git(tmp_path / 'client', 'rev-parse', 'HEAD')}:testing/mine")
    with tarfile.open(tmp_path / "mine.tar.gz", "w:gz") as tar:
        tar.add(mine, "mine")
    given[-1] = f"{tmp_path}/mine.tar.gz@sha256:{file_digest(tmp_path / 'mine.tar.gz')}"
    (mine / "endpoint").unlink()
    file = put(tmp_path, budget("keeps its rate", "throughput('client', 1, 9) / 1e6 > 3"))
    for number, (folder, says) in enumerate(zip(given, ENDINGS.values(), strict=True)):
        words = ["gate", str(file), "--implementation", str(folder), "--into", f"{tmp_path}/{number}"]
        command = [f"{Path(sys.executable).parent}/testbed", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == says.startswith("does not hold"), done.stdout + done.stderr
        assert re.search(says, done.stdout), done.stdout


def git(repository: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", **who}
    command = ["git", "-C", str(repository), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def at_work(folder: Path) -> list[str]:
    """Commands of processes, of other processes than this one, that name the folder."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            commands.append((process / "cmdline").read_bytes().decode(errors="replace"))
    return [command for command in commands if str(folder) in command]


@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_carries_out_runs_may_be_killed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, *, all_of_them: bool
) -> None:
    """What forks with its forks, or one fork; with more runs than processors, some have not begun."""
    names = [f"{2 + 2 * index}p" for index in range(os.cpu_count() or 1)]
    scenario = put(tmp_path).with_name("race.yaml")
    several = f"matrix: {{client: [tcp-ledbat], buffer: [{', '.join(names)}]}}"
    text = SCENARIO.replace("9s", "20min" if all_of_them else "30s").replace("40p", '"${buffer}"')
    scenario.write_text(text.replace("matrix: {client: [tcp-ledbat]}", several))
    command = [f"{Path(sys.executable).parent}/testbed", "compare", "tcp-reno", "tcp-cubic", "--seeds", "1"]
    command += ["--scenario", str(scenario), "--into", f"{tmp_path}/compared"]
    scratch = tmp_path_factory.mktemp("long") / ("d" * 100)  # a socket's path has 107 bytes
    scratch.mkdir()
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **streams) as process:
        while process.poll() is None and not [*tmp_path.rglob(".*.partial/heartbeat")]:
            time.sleep(0.1)
        (forks,) = (
            child for child in children(process.pid) if "testbed.fork_server" in (PROC / child / "cmdline").read_text()
        )
        if all_of_them:
            os.killpg(int(forks), signal.SIGKILL)
        else:
            os.kill(int(children(int(forks))[0]), signal.SIGKILL)
        _, said = process.communicate()
    assert process.returncode == 2, said
    who = "the process that carries out runs" if all_of_them else "the process with runs of made-by-hand, "
    assert said.splitlines()[-1].startswith(who)
    assert "was ended by SIGKILL; repeat the command" in said.splitlines()[-1]


def children(process: int) -> list[str]:
    return (PROC / str(process) / "task" / str(process) / "children").read_text().split()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_ended_it_leaves_no_run_at_work(tmp_path: Path, end: signal.Signals) -> None:
    file = put(tmp_path, budget("fills the link", "utilization(1, 9) > 0.9"))
    (tmp_path / "race.yaml").write_text(SCENARIO.replace("duration: 9s", "duration: 20min"))
    words = ["gate", str(file), "--client", "tcp-cubic", "--into", str(tmp_path)]
    command = [f"{Path(sys.executable).parent}/testbed", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not [*tmp_path.rglob(".*.partial/heartbeat")]:
            time.sleep(0.1)
        assert len(at_work(tmp_path)) > 1  # the guest, too
        process.send_signal(end)
        _, said = process.communicate()
    assert process.returncode == 128 + end, said
    assert said.endswith("finished runs are kept\n")
    assert at_work(tmp_path) == []
    assert not [*tmp_path.rglob(".*.partial")]
