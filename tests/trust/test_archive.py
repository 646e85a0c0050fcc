"""An archive of results is a valid RO-Crate, and what it claims is computed again; forgeries are noticed."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
import requests
import rocrate
from requests.structures import CaseInsensitiveDict
from requests_cache import CachedSession
from requests_cache.models.request import CachedRequest
from requests_cache.models.response import CachedResponse
from rocrate_validator import models, services

from analysis.capture.columns import drop, write_columns
from analysis.damage import damage
from analysis.figures.draw import draw
from analysis.measure import measure
from analysis.tables.over_runs import write_tables
from common import sums
from common.archives import ArchiveError, copy_folder
from engine import images, kunit
from engine.errors import EngineError
from engine.images import PROJECT
from engine.run import execute, run_folder
from images import index
from images.cache import file_digest
from scenarios.resolve import expand, resolve
from testbed.archive import remade
from testbed.archive.contents import Contents
from testbed.archive.crate import opened
from testbed.archive.kinds import KINDS, REPORT, kind_of
from testbed.archive.kinds import told as compared_with_nothing
from testbed.archive.pack import archive
from testbed.archive.recompute import recompute
from testbed.archive.verify import verify
from testbed.cli import main

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
SCENARIO = "workflows/studies/icccn/fig3-top.yaml"
CLAIMS = SCENARIO.replace(".yaml", ".claims.yaml")
EXPERIMENT = "icccn-fig3-top-dt2-b40"
RUN = f"icccn/{EXPERIMENT}/single/seed-1"
SECOND = f"icccn/{EXPERIMENT}/single/seed-2"
OTHER = "icccn-fig3-middle-dt10-b40"
BIN = Path(sys.executable).parent
METADATA = "ro-crate-metadata.json"
TABLES = 6  # with their description


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two real runs, measured and drawn; the second keeps its captures."""
    folder = tmp_path_factory.mktemp("results")
    (cell,) = expand(PROJECT / SCENARIO, "quick")
    for seed in (1, 2):
        execute(resolve(cell, seed), folder / "runs")
        run = run_folder(folder / "runs", cell, seed)
        write_columns(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        experiment = measure(Path(CLAIMS), folder / "runs", folder / "experiments")
    draw([experiment.name], folder / "runs", folder / "experiments", reference=PROJECT / "workflows/reference")
    write_tables(folder)
    drop(run_folder(folder / "runs", cell, 1), packets=True)
    return folder


@pytest.fixture
def crate(results: Path, tmp_path: Path) -> Path:
    return archive(results, tmp_path / "crate")


@pytest.fixture
def known_context(tmp_path: Path) -> Path:
    """The validator's cache, holding the one document it would fetch: the package rocrate brings it."""
    cache = tmp_path / "http"
    content = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
    assert json.loads(content)["@id"] == CONTEXT
    with CachedSession(cache_name=str(cache), backend="sqlite") as session:
        request = session.prepare_request(requests.Request("GET", CONTEXT))
        answer = CachedResponse(
            status_code=200,
            url=CONTEXT,
            headers=CaseInsensitiveDict({"Content-Type": "application/ld+json"}),
            request=CachedRequest.from_request(request),
        )
        answer._content = content
        session.cache.save_response(answer, session.cache.create_key(request))
    return cache


def wrong_with(crate: Path, profile: str, context: Path) -> list[str]:
    """What the validator says about a crate, by a profile."""
    settings = services.ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier=profile,
        requirement_severity=models.Severity.REQUIRED,
        offline=True,
        cache_path=context,
    )
    return [issue.message for issue in services.validate(settings).get_issues()]


def test_an_archive_is_a_valid_workflow_run_crate(crate: Path, known_context: Path) -> None:
    assert wrong_with(crate, "workflow-run-crate-0.5", known_context) == []
    kept = {"LICENSE", "CITATION.cff", "requirements.lock", SCENARIO, f"experiments/{EXPERIMENT}/verdicts.json"}
    assert all((crate / name).is_file() for name in kept)


def test_a_file_is_there_once(results: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    with sums.replacing(copied) as draft:
        (draft / "kunit.json").write_text('{"cases": {}}')
    crate = archive(copied, tmp_path / "crate")
    entities = [entity["@id"] for entity in json.loads((crate / METADATA).read_text())["@graph"]]
    assert len(entities) == len(set(entities))
    assert f"#runs/{RUN}" in entities and "kunit.json" in entities


def test_what_it_claims_comes_out_again(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "archive.zip"
    assert main(["archive", "--results", str(results), "--out", str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    provenance = json.loads((results / "runs" / RUN / "run.json").read_text())["provenance"]
    assert f"made with commit: {provenance['commit']}" in said
    assert any(line.startswith("made with kernel: ") and provenance["kernel"]["digest"] in line for line in said)
    assert f"{RUN}: identical, 7 captures and traces" in said
    part = "1 of 2 runs repeated; computed again and identical: 11 metrics; not checked: 11 metrics, 4 verdicts"
    rest = "1 descriptions of runs, 1 summaries of runs, 1 tables of metrics, 1 verdicts, 3 figures"
    rest += f", {TABLES} tables over runs"
    assert said[-2:] == [f"{EXPERIMENT}: {part}", f"{out}: compared with nothing: {rest}"]
    assert main(["verify", str(out), "--run", RUN.rpartition("/")[0]]) == 0
    whole = "2 of 2 runs repeated; computed again and identical: 22 metrics, 4 verdicts"
    assert f"{EXPERIMENT}: {whole}\n" in capsys.readouterr().out


def test_captures_in_an_archive_are_measured(results: Path, tmp_path: Path) -> None:
    crate = archive(results, tmp_path / "crate", captures=True)
    assert [path.parent.name for path in crate.glob("runs/*/*/*/*/pcap")] == ["seed-2"]
    read = "1 of 2 runs repeated, 1 read from archived captures"
    assert told(crate)[-4:] == [
        f"{EXPERIMENT}: {read}; computed again and identical: 22 metrics, 4 verdicts",
        f"{EXPERIMENT}: its figures: made again and identical",
        "tables over runs: made again and identical",
        f"{crate}: compared with nothing: 1 descriptions of runs, 1 summaries of runs",
    ]
    capture = next(crate.glob("runs/*/*/*/seed-2/pcap/*"))
    capture.write_bytes(capture.read_bytes()[:-1])
    seal(crate)
    (crate / "runs" / RUN / "pcap").mkdir(exist_ok=True)
    (crate / "runs" / RUN / "pcap/invented.pcap").write_bytes(capture.read_bytes())
    seal(crate)
    said = told(crate, differs=True)
    assert f"{SECOND}: DIFFERS in pcap/{capture.name}, which it did not record" in said
    forged = [line for line in said if line.startswith(f"{RUN}: DIFFERS in ")]  # although the run comes out again
    assert len(forged) == 1 and "pcap/invented.pcap" in forged[0]


def told(crate: Path, *, differs: bool = False, everything: bool = False) -> list[str]:
    findings = list(verify(crate, everything=everything))
    assert any(finding.differs for finding in findings) == differs
    return [finding.text for finding in findings]


def seal(crate: Path) -> None:
    """Give each file that is there its sum, as a forger would."""
    metadata = json.loads((crate / METADATA).read_text())
    files = [path for path in crate.rglob("*") if path.is_file() and not path.name.startswith(METADATA)]
    others = [entity for entity in metadata["@graph"] if "sha256" not in entity]
    sums = [{"@id": quote(str(path.relative_to(crate))), "sha256": file_digest(path)} for path in files]
    (crate / METADATA).write_text(json.dumps({**metadata, "@graph": [*others, *sums]}))


def edit(file: Path, change: Callable[[Any], object]) -> None:
    """Change what a JSON file holds, in place."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def test_forged_numbers_are_named(crate: Path) -> None:
    """All with sums to match."""

    def forge_summary(summary: Any) -> None:
        summary["digests"]["traces/queue.csv"] = 64 * "0"
        summary["flows"]["first"]["received_bytes"] += 1

    edit(crate / "runs" / RUN / "summary.json", forge_summary)
    edit(crate / "runs" / RUN / "run.json", lambda run: run["provenance"].update(commit="another"))
    metrics = crate / "experiments" / EXPERIMENT / "metrics.csv"
    first, second, *rest = metrics.read_text().splitlines()
    fields = second.split(",")
    metrics.write_text("\n".join([first, ",".join([*fields[:5], "0.123", *fields[6:]]), *rest, ""]))
    seal(crate)
    said = told(crate, differs=True)
    wrong = "DIFFERS in traces/queue.csv, summary.json: flows (made with another commit)"
    assert f"{RUN}: {wrong}" in said
    assert said[-2].startswith(f"{EXPERIMENT}: 1 of 2 runs repeated: DIFFERS in metrics.csv: single, seed 1, ")


VERDICT_FORGERIES: dict[str, tuple[Callable[[Any], object], Callable[[list[str]], list[str]]]] = {
    "a verdict": (lambda claims: claims[0].update(verdict="nearly"), lambda ids: ids[:1]),
    "as if KUnit decided": (lambda claims: claims[0].update(kunit=True, verdict="nearly"), lambda ids: ids[:1]),
    "two verdicts of a claim": (
        lambda claims: claims.insert(0, {**claims[0], "verdict": "nearly"}),
        lambda _: ["claims"],
    ),
    "a claim less": (lambda claims: claims.pop(0), lambda ids: ["claims", *ids[:1]]),
}


@pytest.mark.parametrize("what", VERDICT_FORGERIES)
def test_forged_verdicts_are_named(results: Path, crate: Path, tmp_path: Path, what: str) -> None:
    """Computed from the runs as they were made, which stand for their repetition here."""
    forge, named = VERDICT_FORGERIES[what]
    verdicts = crate / "experiments" / EXPERIMENT / "verdicts.json"
    ids = [claim["id"] for claim in json.loads(verdicts.read_text())["claims"]]
    edit(verdicts, lambda data: forge(data["claims"]))
    seal(crate)
    runs = shutil.copytree(results / "runs", tmp_path / "runs")
    with opened(crate) as there:
        check = recompute(Contents(there), EXPERIMENT, runs, {RUN, SECOND}, set())
    assert check.different == [f"verdicts.json: {name}" for name in named(ids)]


@pytest.mark.parametrize(
    ("forge", "named"),
    [
        (lambda data: data["provenance"].update(commit=["another"]), "provenance"),
        (lambda data: data.update(provenance={}), "provenance"),
        (lambda data: data["runs"][1].update(wall_s=0.001), "wall_s"),
    ],
)
def test_forged_words_about_runs_are_named(
    results: Path, crate: Path, tmp_path: Path, forge: Callable[[Any], object], named: str
) -> None:
    """A repetition differs in these by design, so they are compared with the archived runs."""
    edit(crate / "experiments" / EXPERIMENT / "verdicts.json", forge)
    seal(crate)
    runs = shutil.copytree(results / "runs", tmp_path / "runs")
    with opened(crate) as there:
        check = recompute(Contents(there), EXPERIMENT, runs, {RUN, SECOND}, set())
    assert check.different == [f"verdicts.json: {named}"]


@pytest.mark.parametrize("value", [" 0.0 ", "0_0.0", "\N{ARABIC-INDIC DIGIT ZERO}.0", "+0.0", "nan"])
def test_numbers_that_only_python_reads_are_named(results: Path, crate: Path, tmp_path: Path, value: str) -> None:
    metrics = crate / "experiments" / EXPERIMENT / "metrics.csv"
    assert ",0.0," in metrics.read_text()
    metrics.write_text(metrics.read_text().replace(",0.0,", f",{value},", 1))
    seal(crate)
    runs = shutil.copytree(results / "runs", tmp_path / "runs")
    with opened(crate) as there:
        check = recompute(Contents(there), EXPERIMENT, runs, {RUN, SECOND}, set())
    assert len(check.different) == 1 and check.different[0].startswith("metrics.csv: ")


def failed(cell: str, seed: int) -> Callable[[Path], None]:
    """Have verdicts say that a run failed."""
    made_up = [{"cell": cell, "seed": seed, "why": "x"}]

    def change(crate: Path) -> None:
        edit(crate / "experiments" / EXPERIMENT / "verdicts.json", lambda data: data.update(failed=made_up))
        seal(crate)

    return change


def times(**values: object) -> Callable[[Path], None]:
    """Have a run say how long it took."""

    def change(crate: Path) -> None:
        edit(crate / "runs" / RUN / "summary.json", lambda data: data.update(values))
        seal(crate)

    return change


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed file": (
        lambda crate: (crate / "runs" / RUN / "summary.json").write_text("{}"),
        rf"changed since they were archived: runs/{RUN}/summary.json",
    ),
    "a missing file": (lambda crate: (crate / SCENARIO).unlink(), rf"sums of files that are missing: {SCENARIO}"),
    "another file": (lambda crate: (crate / "report.html").touch(), r"files without a sum: report.html"),
    "no sums": (
        lambda crate: edit(crate / METADATA, lambda data: [entity.pop("sha256", None) for entity in data["@graph"]]),
        r"files without a sum: CITATION.cff, .* and \d+ more",
    ),
    "a sum twice": (
        lambda crate: edit(
            crate / METADATA, lambda data: data["@graph"].append({"@id": "README.md", "sha256": 64 * "0"})
        ),
        r"README.md has two sums; allowed: one",
    ),
    "a file elsewhere": (
        lambda crate: edit(crate / METADATA, lambda data: data["@graph"].append({"@id": "../x", "sha256": 64 * "0"})),
        r"sums of files that are missing: ../x",
    ),
    "a link": (lambda crate: (crate / "x").symlink_to("/etc/passwd"), r"crate/x: found a link or a device"),
    "no metadata": (lambda crate: (crate / METADATA).unlink(), rf"{METADATA}: cannot be read"),
    "other metadata": (lambda crate: (crate / METADATA).write_text("[" * 2000), r"more than 64 levels"),
    "a failed run without a seed": (failed("single", 0), r"found seed 0 of 'single'; allowed: a run's"),
    "a failed run of a seed that is none": (failed("single", -1), r"found seed -1 of 'single'; allowed: a run's"),
    "a failed run elsewhere": (failed("../single", 1), r"found seed 1 of '../single'; allowed: a run's"),
    "a time before the beginning": (times(wall_s=-1.0), r"summary.json: wall_s: found no time"),
    "a time that is a text": (times(cpu_s="1"), r"summary.json: cpu_s: found no time"),
    "no runs": (lambda crate: (shutil.rmtree(crate / "runs"), seal(crate)), r"found runs of several sizes, or none"),
    "a run less": (
        lambda crate: (shutil.rmtree(crate / "runs" / RUN), seal(crate)),
        rf"lacks runs: {RUN}",
    ),
    "another scenario": (
        lambda crate: (
            (crate / SCENARIO).write_text((crate / SCENARIO).read_text().replace("buffer: 40p", "buffer: 41p")),
            seal(crate),
        ),
        r"its scenario means something else in this version: bottleneck",
    ),
    "runs of another format": (
        lambda crate: (
            edit(crate / "runs" / RUN / "run.json", lambda data: data.update(format=1)),
            seal(crate),
        ),
        r"run\.json: format: found 1, allowed is 2; verify it with the version of the testbed that made it",
    ),
    "verdicts of another format": (
        lambda crate: (
            edit(crate / "experiments" / EXPERIMENT / "verdicts.json", lambda data: data.update(format=4)),
            seal(crate),
        ),
        r"verdicts\.json: format: found 4, allowed is 5; verify it with the version of the testbed that made it",
    ),
    "claims that ask for files": (
        lambda crate: (
            (crate / CLAIMS).write_text((crate / CLAIMS).read_text().replace("drops().count()", "open('/etc/passwd')")),
            seal(crate),
        ),
        r"fig3-top.claims.yaml:\d+: claims\[3\].measure: .*unknown word 'open'",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_archive_is_refused(crate: Path, what: str) -> None:
    change, words = DAMAGE[what]
    change(crate)
    with pytest.raises(EngineError, match=words):
        list(verify(crate))


def test_runs_that_it_lacks_are_named(crate: Path) -> None:
    with pytest.raises(EngineError, match=rf"no run icccn/x; it has 2, such as {RUN}"):
        list(verify(crate, ["icccn/x"]))


def test_damaged_results_are_not_archived(results: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    metrics = copied / "experiments" / EXPERIMENT / "metrics.csv"
    metrics.write_text(metrics.read_text().replace("1", "2", 1))
    with pytest.raises(EngineError, match=f"experiments/{EXPERIMENT}/metrics.csv: damaged"):
        archive(copied, tmp_path / "crate")


def without_line(file: Path, name: str) -> None:
    """Remove the sum of a file, and write the first line for the rest."""
    sums.write(file.parent, {each: of for each, of in sums.read(file.parent).items() if each != name})


UNVOUCHED: dict[str, tuple[Callable[[Path], object], str]] = {
    "sums without a first line": (
        lambda folder: (folder / sums.FILE).write_text((folder / sums.FILE).read_text().partition("\n")[2]),
        f"{sums.FILE}: damaged",
    ),
    "a changed file without a sum": (
        lambda folder: (
            (folder / "metrics.csv").write_text((folder / "metrics.csv").read_text().replace("1", "2", 1)),
            without_line(folder / sums.FILE, "metrics.csv"),
        ),
        "metrics.csv",
    ),
    "another file": (lambda folder: (folder / "notes.txt").touch(), "notes.txt"),
    "another picture": (lambda folder: (folder.parent / "notes.svg").touch(), "experiments/notes.svg"),
    "no sums of a figure": (lambda folder: without_line(folder / sums.FILE, "figure.txt"), "figure.txt"),
    "a capture of a run": (
        lambda folder: (folder.parents[1] / "runs" / RUN / "pcap/made-up.pcap").touch(),
        f"runs/{RUN}/pcap/made-up.pcap",
    ),
    "kunit.json": (lambda folder: (folder.parents[1] / "kunit.json").write_text("{}"), "kunit.json"),
}


@pytest.mark.parametrize("what", UNVOUCHED)
def test_what_nothing_vouches_for_is_not_archived(results: Path, tmp_path: Path, what: str) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    change, named = UNVOUCHED[what]
    change(copied / "experiments" / EXPERIMENT)
    with pytest.raises(EngineError, match=named):
        archive(copied, tmp_path / "crate")
    assert any(named.partition(":")[0] in file for file in damage(copied))


INCOMPLETE: dict[str, tuple[Callable[[Path], object], str]] = {
    "verdicts": (
        lambda results: (results / "experiments" / EXPERIMENT / "verdicts.json").unlink(),
        rf"{EXPERIMENT} lacks verdicts.json; `snakemake --cores all {EXPERIMENT}` makes it",
    ),
    "an experiment": (
        lambda results: shutil.copytree(results / "runs/icccn" / EXPERIMENT, results / "runs/icccn" / OTHER),
        rf"{OTHER} lacks verdicts.json",
    ),
    "a figure": (
        lambda results: (results / "experiments" / EXPERIMENT / "figure-narrow.svg").unlink(),
        rf"{EXPERIMENT} lacks figure-narrow.svg",
    ),
    "a run": (
        lambda results: shutil.rmtree(results / "runs" / RUN),
        rf"{EXPERIMENT} lacks runs/{RUN}/run.json, runs/{RUN}/summary.json",
    ),
    "what the report has": (
        lambda results: ((results / "report").mkdir(), (results / "report" / f".made-for-{OTHER}").touch()),
        rf"{OTHER} lacks verdicts.json",
    ),
}


@pytest.mark.parametrize("what", INCOMPLETE)
def test_incomplete_results_are_not_archived(results: Path, tmp_path: Path, what: str) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    remove, words = INCOMPLETE[what]
    remove(copied)
    with pytest.raises(EngineError, match=words):
        archive(copied, tmp_path / "crate")
    assert not (tmp_path / "crate").exists()


def test_where_an_archive_cannot_be_written(results: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="nothing has been measured there yet"):
        archive(tmp_path, tmp_path / "out")
    there = tmp_path / "there"
    there.symlink_to("nowhere")
    with pytest.raises(EngineError, match="there: exists"):
        archive(results, there)
    with pytest.raises(EngineError, match=r"file/out: cannot be written \(Not a directory\)"):
        (tmp_path / "file").touch()
        archive(results, tmp_path / "file" / "out")
    with pytest.raises(EngineError, match=r"file: found no end of a zip file"):
        list(verify(tmp_path / "file"))


def test_a_full_disk_leaves_nothing(results: Path, tmp_path: Path) -> None:
    """A tmpfs in a namespace of its own."""
    script = (
        "set -e; mount -t tmpfs -o size=300k none $1; cd $1; "
        '"$2" archive --results "$3" --out crate.zip && exit 9 || echo $?; ls -A'
    )
    command = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script, "bash"]
    words = [str(tmp_path), str(BIN / "testbed"), str(results)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
    assert done.stderr == "crate.zip: cannot be written (No space left on device); choose another --out\n"
    assert done.stdout == "2\n"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="openssh-client is missing")
def test_a_signature_says_whose_archive_it_is(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("alice", "mallory"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
        public = (tmp_path / f"{name}.pub").read_text()
        (tmp_path / f"just-{name}").write_text(f'{name}@example.org namespaces="ledbat-testbed" {public}')
    crate = tmp_path / "crate"
    words = ["archive", "--results", str(results), "--out", str(crate), "--sign", str(tmp_path / "alice")]
    assert main(words) == 0
    alone = ["verify", str(crate), "--signer"]
    assert main([*alone, str(tmp_path / "just-alice")]) == 0
    assert "; signed by alice@example.org, ED25519 key SHA256:" in capsys.readouterr().out
    assert main([*alone, str(tmp_path / "just-mallory")]) == 2
    assert "the signature is not good, or not by one of these signers" in capsys.readouterr().err
    (crate / "README.md").write_text("forged")
    seal(crate)
    assert main([*alone, str(tmp_path / "just-alice")]) == 2
    assert "the signature is not good" in capsys.readouterr().err
    (crate / f"{METADATA}.sig").unlink()
    assert main([*alone, str(tmp_path / "just-alice")]) == 2
    assert "the archive is not signed" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="openssh-client is missing")
def test_what_cannot_sign_is_told(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("no key")
    with pytest.raises(EngineError, match=r"--sign .*key: ssh-keygen refused it: "):
        archive(results, tmp_path / "crate", key=tmp_path / "key")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match="need ssh-keygen, which is missing here: install the package openssh-client"):
        archive(results, tmp_path / "crate", key=tmp_path / "key")
    assert not list(tmp_path.glob("*crate*"))


def test_without_images_it_says_where_they_may_come_from(
    crate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "empty"))
    images.load.cache_clear()
    try:
        with pytest.raises(EngineError, match=r"`make images` .*; or take .* `python -m images unpack FILE`"):
            list(verify(crate))
    finally:
        images.load.cache_clear()


def test_a_run_names_its_evidence(results: Path) -> None:
    (cell,) = expand(PROJECT / SCENARIO, "quick")
    folder = run_folder(results / "runs", cell, 2)
    digests = json.loads((folder / "summary.json").read_text())["digests"]
    files = [file for part in ("pcap", "traces") for file in (folder / part).iterdir()]
    assert digests == {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def test_the_page_says_what_checks_each_kind_of_file() -> None:
    rows = [f"| {kind.name} | {', '.join(f'`{place}`' for place in kind.places)} | {kind.check} |" for kind in KINDS]
    table = "\n".join(["| files | where | compared |", "|---|---|---|", *rows])
    page = (PROJECT / "docs/explanation/trust.md").read_text()
    assert f"<!-- kinds of files in archives -->\n{table}\n<!-- end of kinds" in page


@pytest.fixture(scope="module")
def full(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with files of each kind; the second run keeps its captures."""
    crate = archive(results, tmp_path_factory.mktemp("full") / "crate", captures=True)
    (crate / "report").mkdir()
    (crate / "report/index.html").write_text("all is well")
    try:
        (crate / "kunit.json").write_text(json.dumps(kunit.run()))
    except EngineError:
        (crate / "kunit.json").write_text("{}")
    seal(crate)
    return crate


def test_each_file_of_an_archive_is_compared_or_counted(full: Path) -> None:
    with opened(full) as there:
        assert {kind.name for name in there.sums if (kind := kind_of(name))} == {kind.name for kind in KINDS}
        everything = compared_with_nothing(there, [])
    assert everything.startswith(
        "2 descriptions of runs, 2 summaries of runs, 7 captures and traces, 1 tables of metrics"
    )
    try:
        images.load(index.DEBUG)
    except EngineError as error:
        pytest.skip(str(error))
    said = told(full, everything=True)
    assert "outcomes of KUnit cases: made again and identical" in said
    report = f"{full}: 1 page of its report: NOT VOUCHED FOR, and compared with nothing; believe the lines above"
    assert said[-2:] == [report, f"{full}: compared with nothing: no other file"]


def test_forged_outcomes_of_tests_are_named(full: Path, tmp_path: Path) -> None:
    """Or what keeps them from being compared, such as a debug kernel that has not been built."""
    crate = shutil.copytree(full, tmp_path / "crate")
    edit(crate / "kunit.json", lambda data: data.update(cases={"ledbat_gain": "failed"}))
    seal(crate)
    [line] = [line for line in told(crate, differs=True, everything=True) if line.startswith("outcomes of KUnit")]
    assert re.search("DIFFER in cases|not checked: .*make images DEBUG=1", line)


@pytest.mark.parametrize(
    ("name", "there", "same"),
    [
        ("figure.svg", '<path d="M1.25,2e-3" fill="#1f77b4"/>', True),
        ("figure.svg", '<path d="M1.2501,2.1e-3" fill="#1f77b4"/>', True),
        ("figure.svg", '<path d="M1.27,2e-3" fill="#1f77b4"/>', False),
        ("figure.svg", '<path d="M1.25" fill="#1f77b4"/>', False),
        ("figure.svg", '<path d="M1.25,2e-3" fill="#1f77b5"/>', False),
        ("figure.svg", '<path d="M1.25,2e-3" fill="#1f077b4"/>', False),
        ("figure.svg", '<path d="M1.25,2e-3" fill="#1f77b4" onload="x"/>', False),
        ("figure.svg", "\xff", False),
    ],
)
def test_pictures_are_the_same_but_for_places_that_nobody_sees(
    tmp_path: Path, name: str, there: str, same: bool
) -> None:
    texts = ("<text>loss 0.005</text>", "<text>loss 0.006</text>")
    labels = ('<g aria-label="0.005">', '<g aria-label="0.006">')
    made, archived = tmp_path / name, tmp_path / f"archived-{name}"
    made.write_text('<path d="M1.25,2e-3" fill="#1f77b4"/>' + texts[0] + labels[0])
    for text, label, equal in ((0, 0, same), (1, 0, False), (0, 1, False)):
        archived.write_text(there + texts[text] + labels[label], encoding="latin-1")
        assert remade._same_picture(archived, made) == equal


def test_a_forged_table_with_fitting_sums_is_named(full: Path, tmp_path: Path) -> None:
    crate = shutil.copytree(full, tmp_path / "crate")
    file = crate / "tables/flows.parquet"
    pl.read_parquet(file).with_columns(share=pl.col("share") + 0.001).write_parquet(file)

    def describe(data: Any) -> None:
        for resource in data["resources"]:
            resource["hash"] = f"sha256:{file_digest(crate / 'tables' / resource['path'])}"

    edit(crate / "tables/datapackage.json", describe)
    seal(crate)
    findings = {finding.text: finding.differs for finding in verify(crate, [RUN])}
    assert findings["tables over runs: DIFFER in flows.parquet"]


def test_a_table_that_aborts_its_reader_is_another_one(tmp_path: Path) -> None:
    """With this bit changed, a page has more values than any memory, and Polars ends its process."""
    made, archived = PROJECT / "tests/analysis/data/queues.parquet", tmp_path / "queues.parquet"
    content = bytearray(made.read_bytes())
    archived.write_bytes(content)
    assert remade._same_table(archived, made)
    content[3417] ^= 1
    archived.write_bytes(content)
    assert not remade._same_table(archived, made)


def write_to(name: str, text: str = "another") -> Callable[[Path], None]:
    """Give a file this text, or add one with it."""

    def change(crate: Path) -> None:
        (crate / name).parent.mkdir(parents=True, exist_ok=True)
        (crate / name).write_text(text)

    return change


def remove(name: str) -> Callable[[Path], None]:
    return lambda crate: (crate / name).unlink()


OWN = f"experiments/{EXPERIMENT}"
QUEUE = f"runs/{SECOND}/traces/queue.csv"
# of each kind of file: one that is added, changed and removed, each with a sum that fits
CHANGES: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "descriptions of runs",
        write_to(f"runs/icccn/{EXPERIMENT}/single/seed-3/run.json", "{}"),
        "lacks runs/.*/seed-3/summary.json",
    ),
    (
        "descriptions of runs",
        lambda crate: edit(crate / f"runs/{RUN}/run.json", lambda run: run.update(duration_ns=1)),
        "its scenario means something else in this version: duration_ns",
    ),
    ("descriptions of runs", remove(f"runs/{RUN}/run.json"), f"lacks runs/{RUN}/run.json"),
    (
        "summaries of runs",
        write_to(f"runs/icccn/{EXPERIMENT}/single/seed-3/summary.json", "{}"),
        "lacks runs/.*/seed-3/run.json",
    ),
    (
        "summaries of runs",
        lambda crate: edit(crate / f"runs/{RUN}/summary.json", lambda run: run.update(virtual_s=1)),
        f"^{RUN}: DIFFERS in summary.json: virtual_s",
    ),
    ("summaries of runs", remove(f"runs/{RUN}/summary.json"), f"lacks runs/{RUN}/summary.json"),
    ("captures and traces", write_to(f"runs/{SECOND}/pcap/made-up.pcap"), f"^{SECOND}: DIFFERS in pcap/made-up.pcap"),
    ("captures and traces", write_to(f"runs/{RUN}/pcap/made-up.pcap.gz"), f"^{RUN}: DIFFERS in pcap/.*made-up.pcap"),
    ("captures and traces", write_to(QUEUE), f"^{SECOND}: DIFFERS in traces/queue.csv, which it did not record"),
    ("captures and traces", remove(QUEUE), f"^{SECOND}: DIFFERS in traces/queue.csv, which it did not record"),
    ("tables of metrics", write_to(f"experiments/{OTHER}-b/metrics.csv"), f"lacks experiments/{OTHER}-b/figure"),
    (
        "tables of metrics",
        lambda crate: (crate / OWN / "metrics.csv").write_text(
            re.sub(r"[0-9.]+,s$", "0.123,s", (crate / OWN / "metrics.csv").read_text(), flags=re.MULTILINE)
        ),
        f"^{EXPERIMENT}: .*DIFFERS in metrics.csv",
    ),
    ("tables of metrics", remove(f"{OWN}/metrics.csv"), f"lacks {OWN}/metrics.csv"),
    ("verdicts", write_to(f"experiments/{OTHER}-b/verdicts.json", "{}"), f"lacks experiments/{OTHER}-b/figure"),
    (
        "verdicts",
        lambda crate: edit(crate / OWN / "verdicts.json", lambda of: of["claims"][0].update(verdict="nearly")),
        f"^{EXPERIMENT}: .*DIFFERS in verdicts.json",
    ),
    ("verdicts", remove(f"{OWN}/verdicts.json"), f"lacks {OWN}/verdicts.json"),
    ("figures", write_to(f"{OWN}/figure-wide.svg"), f"files that no archive has: {OWN}/figure-wide.svg"),
    ("figures", write_to(f"{OWN}/figure.svg"), f"{EXPERIMENT}: its figures: DIFFER in figure.svg$"),
    (
        "figures",
        lambda crate: (crate / OWN / "figure.txt").write_text((crate / OWN / "figure.txt").read_text() + "9"),
        f"{EXPERIMENT}: its figures: DIFFER in figure.txt$",
    ),
    ("figures", remove(f"{OWN}/figure.svg"), f"lacks {OWN}/figure.svg"),
    ("outcomes of KUnit cases", write_to("runs/kunit.json"), "files that no archive has: runs/kunit.json"),
    (
        "outcomes of KUnit cases",
        write_to("kunit.json", '{"cases": {}}'),
        "compared with nothing: .*1 outcomes of KUnit",
    ),
    (
        "outcomes of KUnit cases",
        remove("kunit.json"),
        "compared with nothing: 1 descriptions of runs, 1 summaries of runs$",
    ),
    ("tables over runs", write_to("tables/made-up.parquet"), "tables over runs: DIFFER in made-up.parquet$"),
    ("tables over runs", write_to("tables/runs.parquet"), "tables over runs: DIFFER in datapackage.json, runs.parquet"),
    ("tables over runs", remove("tables/runs.parquet"), "tables over runs: DIFFER in datapackage.json, runs.parquet"),
    (REPORT, write_to("report/made/up.html"), "2 pages of its report: NOT VOUCHED FOR"),
    (REPORT, write_to("report/index.html"), "1 page of its report: NOT VOUCHED FOR"),
    (
        REPORT,
        remove("report/index.html"),
        "nothing: 1 descriptions of runs, 1 summaries of runs, 1 outcomes of KUnit cases$",
    ),
    (
        "files of studies",
        write_to("workflows/studies/icccn/x.csv"),
        "other than in this checkout: .*studies/icccn/x.csv",
    ),
    (
        "files of studies",
        lambda crate: (crate / CLAIMS).write_text((crate / CLAIMS).read_text() + "# another\n"),
        f"other than in this checkout: {CLAIMS}",
    ),
    ("files of studies", remove(SCENARIO), f"no scenario {SCENARIO}"),
    ("files of the project", write_to("LICENSES/made-up.txt"), "other than in this checkout: LICENSES/made-up.txt"),
    ("files of the project", write_to("README.md"), "other than in this checkout: README.md"),
    ("files of the project", remove("docs/index.md"), "other than in this checkout: docs/index.md"),
]


def test_the_changes_are_of_all_kinds() -> None:
    assert {kind for kind, _, _ in CHANGES} == {kind.name for kind in KINDS}


@pytest.mark.parametrize(("change", "says"), [change[1:] for change in CHANGES])
def test_a_changed_archive_is_refused_or_the_change_is_named(
    full: Path, tmp_path: Path, change: Callable[[Path], object], says: str
) -> None:
    crate = shutil.copytree(full, tmp_path / "crate")
    change(crate)
    seal(crate)
    try:
        lines = [finding.text for finding in verify(crate, [RUN])]
    except EngineError as error:
        lines = [str(error)]
    assert any(re.search(says, line) for line in lines), lines


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        ([{"cell": "single", "seed": 99, "why": "x"}], f"lacks runs: {SECOND[:-1]}3"),
        ([{"cell": "another", "seed": 3, "why": "x"}], "is said to have failed, but no archived scenario has it"),
        ([{"cell": "single", "seed": 1, "why": "x"}], "of which the archive says something else elsewhere"),
        ([{"cell": "single", "seed": 3.0, "why": "x"}], "allowed: objects of cell, seed and why"),
        ([{"cell": "single", "seed": 3}], "allowed: objects of cell, seed and why"),
        ({"cell": "single"}, "found no list"),
        (
            [{"cell": "single", "seed": 3, "why": "x"}],
            f"^{SECOND[:-1]}3: failed, says the archive \\(x\\): not repeated",
        ),
    ],
)
def test_runs_that_are_said_to_have_failed(full: Path, tmp_path: Path, failed: Any, says: str) -> None:
    crate = shutil.copytree(full, tmp_path / "crate")
    edit(crate / OWN / "verdicts.json", lambda data: data.update(failed=failed))
    seal(crate)
    try:
        lines = [finding.text for finding in verify(crate, [RUN])]
    except EngineError as error:
        lines = [str(error)]
    assert any(re.search(says, line) for line in lines), lines


def test_a_run_that_is_said_to_have_failed_is_repeated(full: Path, tmp_path: Path) -> None:
    """It succeeds here, so the archive is not believed."""
    crate = shutil.copytree(full, tmp_path / "crate")
    edit(crate / OWN / "verdicts.json", lambda data: data.update(failed=[{"cell": "single", "seed": 3, "why": "x"}]))
    seal(crate)
    said = told(crate, differs=True, everything=True)
    assert f"{SECOND[:-1]}3: DIFFERS in its end: it does not fail, archived: x" in said


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_a_killed_archive_leaves_nothing_under_its_name(results: Path, tmp_path: Path, name: str) -> None:
    """The next call removes what is left."""
    command = [str(BIN / "testbed"), "archive", "--results", str(results), "--out", str(tmp_path / name)]
    started = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL)
    while started.poll() is None and not list(tmp_path.glob(f".{name}.*.partial/*/docs")):
        pass
    started.kill()
    assert started.wait() == -9
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == []
    assert list(tmp_path.glob(f".{name}.*.partial"))
    assert archive(results, tmp_path / name).exists()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_folder_that_changes_meanwhile_is_refused(crate: Path, tmp_path: Path) -> None:
    """What is compared is a copy, so no file can change between its sum and its reading."""
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            (crate / "docs").rename(crate / "moved")
            (crate / "moved").rename(crate / "docs")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for number in range(10):
            (tmp_path / str(number)).mkdir()
            try:
                copy_folder(crate, tmp_path / str(number))
            except ArchiveError as error:
                assert "cannot be copied" in str(error) or "cannot be read" in str(error)
    finally:
        done.set()
        thread.join()
