"""An archive of results is a valid RO-Crate, whose runs give the same bytes again; changes are noticed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
import rocrate
from requests_cache import CachedSession
from requests_cache.models import CachedRequest, CachedResponse
from rocrate_validator import models, services

from engine import images
from engine.archive import archive
from engine.errors import EngineError
from engine.images import PROJECT
from engine.run import execute, run_folder
from engine.verify import verify
from scenarios.resolve import expand
from testbed.cli import main

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
SCENARIO = "workflows/studies/icccn/fig3-top.yaml"
EXPERIMENT = "icccn-fig3-top-dt2-b40"
FILES = {"scenario": SCENARIO, "claims_file": SCENARIO.replace(".yaml", ".claims.yaml")}
RUN = f"icccn/{EXPERIMENT}/single/seed-1"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run, and the files that the analysis makes of it as far as an archive reads them."""
    folder = tmp_path_factory.mktemp("results")
    (cell,) = expand(PROJECT / SCENARIO, "quick")
    execute(cell, 1, folder / "runs")
    experiment = folder / "experiments" / EXPERIMENT
    experiment.mkdir(parents=True)
    for name in ("metrics.csv", "figure.svg", "figure-narrow.svg", "figure.png", "figure.txt"):
        (experiment / name).write_text(name)
    verdicts = {"study": "icccn", "experiment": {"id": EXPERIMENT, "runs_of": EXPERIMENT, **FILES}}
    (experiment / "verdicts.json").write_text(json.dumps(verdicts))
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
            headers={"Content-Type": "application/ld+json"},
            request=CachedRequest.from_request(request),
        )
        answer._content = content
        session.cache.save_response(answer, session.cache.create_key(request))
    return cache


def test_an_archive_is_a_valid_workflow_run_crate(crate: Path, known_context: Path) -> None:
    settings = services.ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier="workflow-run-crate-0.5",
        requirement_severity=models.Severity.REQUIRED,
        offline=True,
        cache_path=known_context,
    )
    found = services.validate(settings)
    assert found.passed(), [issue.message for issue in found.get_issues()]
    kept = {"LICENSE", "CITATION.cff", "requirements.lock", SCENARIO, f"experiments/{EXPERIMENT}/verdicts.json"}
    assert all((crate / name).is_file() for name in kept)


def test_runs_that_several_experiments_look_at_are_there_once(results: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    other = shutil.copytree(copied / "experiments" / EXPERIMENT, copied / "experiments" / "another")
    verdicts = {"study": "icccn", "experiment": {"id": "another", "runs_of": EXPERIMENT, **FILES}}
    (other / "verdicts.json").write_text(json.dumps(verdicts))
    (copied / "kunit.json").write_text('{"cases": {}}')
    crate = archive(copied, tmp_path / "crate")
    entities = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    assert sum(one["@id"] == f"#runs/{RUN}" for one in entities) == 1
    assert (crate / "experiments" / "another" / "metrics.csv").exists()
    assert (crate / "kunit.json").exists()
    # alone it brings the runs that it looks at
    shutil.rmtree(copied / "experiments" / EXPERIMENT)
    assert (archive(copied, tmp_path / "alone") / "runs" / RUN / "run.json").exists()


def test_its_runs_give_the_same_bytes(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "archive.zip"
    assert main(["archive", "--results", str(results), "--out", str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    assert f"{RUN}: identical, 7 captures and traces\n" in capsys.readouterr().out


def edit(crate: Path, name: str, change: Callable[[str], str], hide: bool = False) -> None:
    """Change a file of the crate; `hide` gives its digest in the metadata, too."""
    file, metadata = crate / name, crate / "ro-crate-metadata.json"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_text(change(file.read_text()))
    if hide:
        after = hashlib.sha256(file.read_bytes()).hexdigest()
        metadata.write_text(metadata.read_text().replace(before, after))


def test_other_bytes_are_named(crate: Path) -> None:
    def forge(text: str) -> str:
        summary = json.loads(text)
        summary["digests"]["traces/queue.csv"] = 64 * "0"
        return json.dumps(summary)

    edit(crate, f"runs/{RUN}/summary.json", forge, hide=True)
    edit(crate, f"runs/{RUN}/run.json", lambda text: text.replace('"commit": "', '"commit": "other'), hide=True)
    (outcome,) = verify(crate)
    assert str(outcome) == f"{RUN}: DIFFERS in traces/queue.csv (made with another commit)"


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a changed file": (
        lambda crate: edit(crate, f"runs/{RUN}/summary.json", lambda text: text + " "),
        r"summary.json has changed since it was archived",
    ),
    "a missing file": (lambda crate: (crate / SCENARIO).unlink(), r"fig3-top.yaml is missing"),
    "a file elsewhere": (
        lambda crate: edit(crate, "ro-crate-metadata.json", lambda text: text.replace('"LICENSE"', '"../LICENSE"')),
        r"'../LICENSE' lies outside of the archive",
    ),
    "no metadata": (lambda crate: (crate / "ro-crate-metadata.json").unlink(), r"is missing or damaged"),
    "no runs": (lambda crate: shutil.rmtree(crate / "runs"), r"run.json is missing"),
    "another scenario": (
        lambda crate: edit(crate, SCENARIO, lambda text: text.replace("buffer: 40p", "buffer: 41p"), hide=True),
        r"its scenario means something else in this version: bottleneck",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_archive_is_refused(crate: Path, what: str) -> None:
    damage, words = DAMAGE[what]
    damage(crate)
    with pytest.raises(EngineError, match=words):
        list(verify(crate))


def test_runs_that_it_lacks_are_named(crate: Path) -> None:
    with pytest.raises(EngineError, match=rf"no run icccn/x/single/seed-9; it has 1, such as {RUN}"):
        list(verify(crate, ["icccn/x/single/seed-9"]))


def test_what_cannot_be_archived_or_verified_is_told(results: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="nothing has been measured there yet"):
        archive(tmp_path, tmp_path / "out")
    (tmp_path / "there").touch()
    with pytest.raises(EngineError, match="is there already"):
        archive(results, tmp_path / "there")
    with pytest.raises(EngineError, match="neither a folder nor a zip file"):
        list(verify(tmp_path / "there"))


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
    folder = run_folder(results / "runs", cell, 1)
    digests = json.loads((folder / "summary.json").read_text())["digests"]
    files = [file for part in ("pcap", "traces") for file in (folder / part).iterdir()]
    assert digests == {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }
