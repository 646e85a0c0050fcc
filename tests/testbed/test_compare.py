"""`testbed compare`: what it refuses, what it writes, and a real small comparison as docs/howto/compare.md shows it."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from images.cache import default_root
from scenarios import homes, implementations
from scenarios.cells import plan
from scenarios.errors import ScenarioError
from scenarios.load import read
from scenarios.resolve import expand
from testbed import settings
from testbed.cli import main
from testbed.compare import failures
from testbed.shared.panel import CASES, filled, panel, panel_for
from testbed.shared.standings import title
from tests.analysis.browser import unsound_by_itself
from tests.analysis.synthetic import vouch
from tests.copies import copy_sources

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "compare.md").read_text()
BIN = Path(sys.executable).parent
TWO = ("tcp-cubic", "tcp-ledbat")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project in a folder with an awkward path, as its cache's is; what is called here is the copy."""
    folder = tmp_path / "a checkout"
    copy_sources(folder)
    (tmp_path / "a cache").symlink_to(default_root())
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "a cache"))
    return folder


def run(command: str, folder: Path, *more: str) -> str:
    """What a command of the page prints, both streams together; it must succeed."""
    words = [*command.split(), *more]
    done = subprocess.run([BIN / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_name_with_parameters_becomes_an_implementation(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(homes.VARIABLE, "")
    into = tmp_path_factory.mktemp("compare")
    assert settings.named("tcp-ledbat", into) == "tcp-ledbat"
    name = settings.named("tcp-ledbat:target=25ms,slow_start=once", into)
    assert name == "tcp-ledbat-target-25ms-slow_start-once"
    made = implementations.known()[name]
    assert made["title"].endswith(", with target=25ms, slow_start=once")
    defaults = {parameter: made["parameters"][parameter]["default"] for parameter in ("target", "slow_start")}
    assert defaults == {"target": "25ms", "slow_start": "once"}
    assert made["parameters"]["gain"] == implementations.known()["tcp-ledbat"]["parameters"]["gain"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("tcp-ldbat:target=25ms", "found 'tcp-ldbat'; allowed: one of"),
        ("tcp-ledbat:tagret=25ms", "tagret: unknown parameter; allowed: target, "),
        ("tcp-ledbat:target=25", "target: found 25, a number without a unit; allowed: a time such as 25ms"),
        ("tcp-ledbat:target", "found 'target'; allowed: NAME:PARAMETER=VALUE,..."),
    ],
)
def test_parameters_that_cannot_be_are_refused_before_a_run(
    tmp_path: Path, word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "tcp-cubic", word, "--into", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"{word}: {message}")
    assert not list(tmp_path.iterdir())


def test_the_page_shows_the_panel() -> None:
    listed = re.search(r"\|---\|---\|\n(.*?)\n<!-- end of panel", PAGE, re.DOTALL)
    assert listed
    assert listed[1].splitlines() == [f"| `{file.stem}` | {read(file).data['title']} |" for file in panel()]


@pytest.mark.parametrize(
    ("standings", "said"),
    [
        ([["open"], ["open"]], "b beside a: 2 seeds cannot show a difference"),
        ([["alike"], ["open"]], "b beside a: no difference shown in 2 numbers"),
        (
            [["better"], ["worse"], ["more"], ["alike"]],
            "b beside a: better in 1, worse in 1, otherwise in 1 of 4 numbers, "
            "most in delay 2: never instead of 2 ms (here)",
        ),
        (
            [["better", "alike"], ["alike", "less"]],
            "b beside a: better in 1 of 2 numbers, most in delay 0: 5 ms instead of 2 ms (here); "
            "c beside a: otherwise in 1 of 2 numbers, most in delay 1: 0 ms instead of 2 ms (here)",
        ),
        (
            [["better", "alike", "worse"]],
            "3 implementations beside a: 2 of 3 numbers differ, most in delay 0 of d: 0.100 ms instead of 2 ms (here)",
        ),
        (
            [["less"], ["better"]],
            "b beside a: better in 1, otherwise in 1 of 2 numbers, most in delay 1: 5 ms instead of 2 ms (here)",
        ),
    ],
)
def test_a_title_says_how_the_others_stand(standings: list[list[str]], said: str) -> None:
    others = "bcd"[: len(standings[0])]
    means = {"better": 5.0, "worse": 0.1, "more": None, "less": 0.0, "alike": 99.0, "open": 99.0}  # None: never
    metrics = [
        {
            "name": f"delay {index}",
            "unit": "ms",
            "where": "here",
            "clients": {"a": {"mean": 2.0}}
            | {name: {"standing": one, "mean": means[one]} for name, one in zip(others, of, strict=True)},
        }
        for index, of in enumerate(standings)
    ]
    assert title(metrics, ["a", *others], 2).replace("\N{NO-BREAK SPACE}", " ") == said


def test_the_panel_takes_any_implementations(tmp_path: Path) -> None:
    names = ("libutp", "tcp-lp", "tcp-ledbatpp")
    for file in panel():
        (tmp_path / file.name).write_text(filled(file, names, 4))
    cells = plan(sorted(tmp_path.glob("*.yaml")), "complete")
    assert {cell["experiment"] for cell in cells} == {cell["experiment"] for cell in plan(panel(), "complete")}
    assert {tuple(cell["seeds"]) for cell in cells} == {(1, 2, 3, 4)}
    pairs = [cell["cell"] for cell in cells if cell["experiment"] == "compare-pairs"]
    assert pairs == [f"client={name},rival={other}" for name in names for other in names]
    # what is compared is what runs
    [flows] = [
        cell.settings["flows"]
        for cell in expand(tmp_path / "pairs.yaml", "complete")
        if cell.name == "client=libutp,rival=tcp-lp"
    ]
    assert [flow["implementation"] for flow in flows] == ["libutp", "tcp-lp"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tcp-cubic"], "found tcp-cubic; allowed: two or more different implementations"),
        (["tcp-cubic", "tcp-cubic"], "found tcp-cubic, tcp-cubic; allowed: two or more different implementations"),
        (["tcp-cubic", "tcp-ledbta"], "unknown implementation 'tcp-ledbta'"),
        (sorted(implementations.known()), "characters of names; allowed: 255"),
        ([*TWO, "--seeds", "0"], "--seeds: found 0; allowed: a whole number, at least 1, at most 100000"),
        ([*TWO, "--scenario", "alon"], "--scenario: found 'alon', no file; allowed: against-tcp, alone"),
        ([*TWO, "--scenario", "workflows/studies/icccn/fig2a.yaml"], "has no place for implementations, client"),
    ],
)
def test_a_wrong_order_is_one_message(
    arguments: list[str], message: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["compare", *arguments, "--into", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_what_a_scenario_does_not_allow_is_told_before_the_pipeline_starts(tmp_path: Path, capsys: Any) -> None:
    assert main(["compare", "udp-cbr", "tcp-cubic", "--scenario", "clocks", "--into", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "flow 'client' is udp-cbr, without timestamps" in said


def test_the_panel_leaves_out_what_implementations_cannot_show() -> None:
    """QUIC's packets have no timestamps."""
    assert [file.stem for file in panel() if file not in panel_for(["quinn", "quic-go"])] == ["clocks"]
    assert panel_for(["libutp", "tcp-cubic"]) == panel()


def test_a_folder_that_snakemake_cannot_name_is_refused(tmp_path: Path, capsys: Any) -> None:
    for folder in (tmp_path / "a{b}", tmp_path / "no text \udcff"):
        assert main(["compare", *TWO, "--into", str(folder)]) == 2
        assert "; allowed: UTF-8 text without { and }" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_scenario_without_the_flow_is_refused(tmp_path: Path) -> None:
    text = (CASES / "alone.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("{name: client, ", "{name: flow, "))
    with pytest.raises(ScenarioError, match="a flow of that name"):
        filled(file, TWO, 1)


def test_cases_that_are_a_table_are_compared_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    table = "{columns: [{case: 'of-{pkts}', bottleneck: {buffer: '{pkts}p'}}], rows: [{pkts: 20}, {pkts: 40}]}"
    alone = (CASES / "alone.yaml").read_text()
    file.write_text(re.sub(r"(?s)cases:\n.*?\nmatrix", f"cases:\n- {table}\nmatrix", alone))
    kept = yaml.safe_load(filled(file, TWO, 1, ["case=of-40"]))["cases"]
    assert kept == {"of-40": {"bottleneck": {"buffer": "40p"}}}


def test_a_real_comparison(checkout: Path, tmp_path: Path) -> None:
    """In folders whose names have spaces, quotes, a line break and letters beyond ASCII, the project's own included."""
    scenario = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    command = re.search(r"^(testbed compare .*mine\.yaml.*)$", PAGE, re.MULTILINE)
    again = re.search(r"^(snakemake .*)$", PAGE, re.MULTILINE)
    assert scenario
    assert command
    assert again
    (tmp_path / "mine it's.yaml").write_text(scenario[1])
    said = run(command[1].replace(" --scenario mine.yaml", ""), tmp_path, "--scenario", "mine it's.yaml")
    folder = tmp_path / "results/compare/tcp-cubic-tcp-ledbat"
    assert "Comparison: results/compare/tcp-cubic-tcp-ledbat/index.html" in said

    result = json.loads((folder / "experiments/mine-against-tcp/comparison.json").read_text())
    [point] = result["points"]
    metrics = {f"{metric['phase']} {metric['name']}": metric["clients"] for metric in point["metrics"]}
    cubic, ledbat = ({name: of[client] for name, of in metrics.items()} for client in TWO)
    # RFC 6817, section 1: LEDBAT yields to standard TCP; one CUBIC does not yield to another
    assert cubic["shared time to yield"]["by_seed"] == dict.fromkeys("1234", "never")
    assert ledbat["shared time to yield"]["never"] == 0
    assert 0 < ledbat["shared time to yield"]["maximum"] < 10
    # until TCP joins, the link is the client's; LEDBAT's target is half of the buffer
    assert cubic["alone throughput"]["minimum"] > 4
    assert ledbat["alone queuing delay"]["maximum"] < cubic["alone queuing delay"]["minimum"]
    # a link that is full: what the client has not is TCP's, and Jain's index follows from the share (of two flows)
    share = ledbat["shared share"]["by_seed"]["1"] / 100
    assert ledbat["shared fairness"]["by_seed"]["1"] == pytest.approx(1 / (2 * (share**2 + (1 - share) ** 2)))
    # four against four: 2 of 70 orders are as extreme as one that separates them
    assert ledbat["shared throughput"]["p"] == pytest.approx(2 / 70)

    better = {f"{metric['phase']} {metric['name']}": metric["better"] for metric in point["metrics"]}
    assert better["alone throughput"] == "more"
    assert better["shared share"] == "less"  # beside TCP
    assert better["shared fairness"] is None  # a client that gives way is not fair
    assert result["versions"].keys() >= set(TWO)

    index, page = ((folder / name).read_text() for name in ("index.html", "mine-against-tcp.html"))
    assert re.search(r"<h1>tcp-ledbat beside tcp-cubic: better in 6, .* of 9 numbers, most in time to yield: ", index)
    for text in (index, page):
        for linked in re.findall(r'(?:href|src|srcset)="([^"#]+)"', text):
            assert linked == "data:," or (folder / unquote(linked)).exists(), linked

    assert [unsound_by_itself(folder / name) for name in ("index.html", "mine-against-tcp.html")] == [[], []]

    # everything is there: nothing is done again, here or on a cluster
    kept = {file: file.stat().st_mtime_ns for file in folder.rglob("summary.json")}
    words, _, place = again[1].rpartition(" ")
    assert place == "folder=results/compare/tcp-cubic-tcp-ledbat"
    run(words, checkout, f"folder= {json.dumps(str(folder), ensure_ascii=False)} ")
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("summary.json")} == kept
    assert len(kept) == 8


def test_a_client_that_breaks_stands_first_with_its_kind_and_its_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    toys = tmp_path_factory.mktemp("own toys")
    scenario = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert scenario
    (tmp_path / "short.yaml").write_text(scenario[1].replace("start: 4s", "start: 2s").replace("20s", "5s"))
    command = [f"{BIN}/testbed", "compare", "tcp-cubic", "--seeds", "1", "--scenario", "short.yaml"]
    flaws = {"wrong-bytes": "got wrong bytes", "dies": "died", "crashes": "gave up"}
    for flaw in flaws:
        shutil.copytree(ROOT / "tests/engine/toy", toys / flaw)
        (toys / flaw / "flaw").write_text(flaw.replace("-", " "))
        command += ["--implementation", str(toys / flaw)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    folder = tmp_path / "results/compare/tcp-cubic-wrong-bytes-dies-crashes"
    index = (folder / "index.html").read_text()
    assert "<h1>3 of 4 runs of 3 implementations failed; " in index
    for flaw, verb in flaws.items():
        cell = f"client={flaw}"
        assert f"failed, and left out: short.yaml: {cell}, seed-1: the client {verb} at " in done.stdout
        assert f">{flaw} {verb}: short.yaml, {cell}, seed 1</h3>" in index
        assert f">no finished run of {flaw}</a>" in index
        assert list((folder / "runs/compare/mine-against-tcp" / cell / "seed-1").glob("pcap/*"))
        assert f"{flaw} beside tcp-cubic: nothing to compare" in index
    assert index.index("Failed runs, which") < index.index('id="overview"')
    # the command of the page makes the run again, from the page's folder
    [again] = {html.unescape(text) for text in re.findall(r"<code>(testbed run .*?client=dies .*?)</code>", index)}
    words = shlex.split(again)
    subprocess.run([BIN / words[0], *words[1:]], cwd=folder, check=True)
    assert (folder / "again/compare/mine-against-tcp/client=dies/seed-1/summary.json").exists()


def test_a_run_that_another_flow_fails_is_told_by_that_flow(tmp_path: Path) -> None:
    flows = {"client": "one", "rival": "two", "tcp": "tcp-cubic"}
    said = {"rival": "sender was ended by SIGSEGV", "tcp": "sender exited with 1: no luck"}
    for seed, (name, says) in enumerate(said.items(), 1):
        folder = tmp_path / f"runs/compare/each/client=one,rival=two/failed-seed-{seed}"
        folder.mkdir(parents=True)
        exits = {each: {"sender_exit": (-11 if "SIGSEGV" in says else 1) if each == name else -15} for each in flows}
        summary = {"status": "failed", "error": f"flow {name}: {says}", "flows": exits}
        (folder / "summary.json").write_text(json.dumps(summary))
        named = [{"name": each, "implementation": implementation} for each, implementation in flows.items()]
        (folder / "run.json").write_text(json.dumps({"flows": named}))
        vouch(folder)
    [failed] = failures.of(tmp_path, {"each": "each.yaml"}).values()
    assert [(run.client, run.verb, run.says, run.is_result) for run in failed] == [
        ("two", "died", f"flow rival died: {said['rival']}", False),
        ("the neighbour tcp-cubic", "gave up", f"flow tcp gave up: {said['tcp']}", False),
    ]
    ran = [failures.took_part(cell) for cell in ("client=one,rival=two", "client=one,rival=two", "case=a,client=two")]
    assert failures.told(failed, ran) == "two died in 1 of 3 runs; the neighbour tcp-cubic gave up in 1 of 3 runs"


def test_what_fails_leaves_the_rest(tmp_path: Path) -> None:
    scenario = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert scenario
    short = scenario[1].replace("start: 4s", "start: 1s").replace("duration: 20s", "duration: 3s")
    lost = "events: [{at: 1ms, on: path, loss: {forward: 100%}}]\n"
    (tmp_path / "dead.yaml").write_text(short.replace("experiment: mine", "experiment: dead") + lost)
    # one point of this scenario is as dead
    cases = f"cases: {{good: {{}}, lost: {{{lost.strip()}}}}}\n"
    (tmp_path / "good.yaml").write_text(short + cases)
    command = [f"{BIN}/testbed", "compare", "libutp", "tcp-ledbat", "--seeds", "1", "--scenario", "good.yaml"]
    for more, message in (([], "2 runs failed"), (["--scenario", "dead.yaml"], "Comparison of what did not fail")):
        done = subprocess.run(
            [*command, *more],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stdout
        assert message in done.stdout
    folder = tmp_path / "results/compare/libutp-tcp-ledbat"
    # both flows are dead; the message names the first to end
    index, page = ((folder / name).read_text() for name in ("index.html", "mine-against-tcp.html"))
    why = r"seed 1</h3>\s*<p>Flow \w+ gave up: .*never connected"
    assert re.search(rf">the neighbour tcp-cubic gave up: dead\.yaml, client=libutp, {why}", index)
    lost = rf">the neighbour tcp-cubic gave up: good\.yaml, case=lost,client=libutp, {why}"
    assert re.search(lost, index)
    assert re.search(lost, page)
    result = json.loads((folder / "experiments/mine-against-tcp/comparison.json").read_text())
    assert {run["cell"] for run in result["runs"]} == {f"case=good,client={name}" for name in ("libutp", "tcp-ledbat")}
