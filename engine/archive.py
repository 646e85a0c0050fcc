"""Archives results as an RO-Crate, with what made them, ready for an archival repository.

A crate (https://w3id.org/ro/crate/1.1, profile Workflow Run Crate 0.5) holds no captures: each run's `summary.json` has
the SHA-256 of its captures and traces instead, which a repeated run must meet (`engine.verify`).
"""

import json
import mimetypes
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from engine.errors import EngineError
from engine.images import PROJECT
from engine.provenance import commit
from engine.verify import RUNS
from images.cache import file_digest
from scenarios import STUDY

_TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_FORMATS = {".yaml": "application/yaml", ".md": "text/markdown"}  # which some hosts' tables lack
_SPDX = "https://spdx.org/licenses/"
_FILES = ("README.md", "LICENSE", "CITATION.cff", "requirements.lock", "workflows/config.yaml")
_FOLDERS = ("LICENSES", "docs", "workflows/rules", "workflows/schemas", "workflows/profiles")
KUNIT = "kunit.json"  # results of the module's tests
_OF_EXPERIMENT = ("metrics.csv", "verdicts.json", "figure.svg", "figure-narrow.svg", "figure.png", "figure.txt")
_OF_RUN = ("run.json", "summary.json")


def archive(results: Path, out: Path) -> Path:
    """Write the crate of everything measured below `results` (`results`, or `results/quick`); return `out`.

    `out` becomes a folder, or a file if its name ends with .zip.

    Raises:
        EngineError: nothing has been measured there, or a file of an experiment is missing.
    """
    experiments = sorted(file.parent for file in results.glob("experiments/*/verdicts.json"))
    if not experiments:
        raise EngineError(f"{results}: nothing has been measured there yet (no experiments/*/verdicts.json)")
    if out.exists():
        raise EngineError(f"{out}: is there already; remove it or choose another --out")
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update(_TERMS)
    workflow = _workflow(crate)
    inputs, products = [], []
    made: dict[Path, list[Any]] = {}  # by run, since several experiments may use the same
    for folder in experiments:
        scenario, claims, runs = _inputs(folder, results)
        inputs += [_file(crate, PROJECT / path, path) for path in (scenario, claims, claims.with_name(STUDY))]
        made |= {run: _run(crate, results, run, scenario) for run in runs if run not in made}
        products += [_file(crate, folder / name, Path("experiments", folder.name, name)) for name in _OF_EXPERIMENT]
    products += [file for files in made.values() for file in files]
    if (results / KUNIT).exists():
        products.append(_file(crate, results / KUNIT, Path(KUNIT)))
    if (results / "report").is_dir():
        products.append(crate.add_dataset(results / "report", "report/", properties={"name": "The report, in HTML"}))
    _action(
        crate,
        workflow,
        identifier="#pipeline",
        object=list(dict.fromkeys(inputs)),
        result=products,
        properties={
            "name": "snakemake, all rules",
            "endTime": _time(max(folder.stat().st_mtime for folder in experiments)),
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    partial = out.with_name(f".{out.stem}.{os.getpid()}{out.suffix}")
    (crate.write_zip if out.suffix == ".zip" else crate.write)(partial)
    partial.rename(out)
    return out


def _workflow(crate: ROCrate) -> Any:
    """Add everything about the crate that is the same for all results; return the workflow."""
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    root = crate.root_dataset
    crate.name = f"Results of the {citation['title']}"
    crate.description = citation["abstract"].strip()
    crate.keywords = citation["keywords"]
    root["conformsTo"] = [
        crate.add(ContextEntity(crate, url, properties={"@type": "CreativeWork", "name": name, "version": version}))
        for url, (name, version) in _PROFILES.items()
    ]
    licences = [
        crate.add(ContextEntity(crate, f"{_SPDX}{name}", properties={"@type": "CreativeWork", "name": name}))
        for name in citation["license"]
    ]
    author = {"@type": "Organization", "name": " and ".join(one["name"] for one in citation["authors"])}
    root["author"] = root["publisher"] = crate.add(ContextEntity(crate, "#authors", properties=author))
    root["license"] = licences[0]
    workflow = crate.add_workflow(PROJECT / "Snakefile", "Snakefile", main=True, lang="snakemake")
    workflow["name"], workflow["license"], workflow["creator"] = citation["title"], licences, root["author"]
    workflow["version"] = commit()
    for name in _FILES:
        _file(crate, PROJECT / name, Path(name))
    for name in _FOLDERS:
        crate.add_dataset(PROJECT / name, f"{name}/", properties={"name": name})
    return workflow


def _inputs(folder: Path, results: Path) -> tuple[Path, Path, list[Path]]:
    """Return scenario and claims of a measured experiment, below the project's root, and the folders of its runs."""
    verdicts = json.loads((folder / "verdicts.json").read_text())
    missing = [name for name in _OF_EXPERIMENT if not (folder / name).exists()]
    if missing:
        raise EngineError(f"{folder}: {', '.join(missing)} missing; snakemake {folder.name} makes it")
    study, entry = verdicts["study"], verdicts["experiment"]
    runs = sorted(results.glob(f"{RUNS}/{study}/{entry['runs_of']}/*/seed-*"))
    return Path(entry["scenario"]), Path(entry["claims_file"]), [run for run in runs if (run / "summary.json").exists()]


def _run(crate: ROCrate, results: Path, run: Path, scenario: Path) -> list[Any]:
    """Add one run: the action of the testbed that made it, and its files."""
    place = Path(RUNS, *run.relative_to(results / RUNS).parts)
    files = [_file(crate, run / name, place / name) for name in _OF_RUN]
    provenance = json.loads((run / "run.json").read_text())["provenance"]
    _action(
        crate,
        _testbed(crate, provenance["commit"]),
        identifier=f"#{place}",
        object=[_file(crate, PROJECT / scenario, scenario), *_images(crate, provenance)],
        result=files,
        properties={"name": f"run {place.relative_to(RUNS)}", "endTime": _time((run / "summary.json").stat().st_mtime)},
    )
    return files


def _action(crate: ROCrate, instrument: Any, **about: Any) -> None:
    crate.root_dataset.append_to("mentions", crate.add_action(instrument, **about))


def _testbed(crate: ROCrate, version: str) -> Any:
    name = f"#testbed-{version}"
    properties = {"@type": "SoftwareApplication", "name": "testbed run", "version": version}
    return crate.get(name) or crate.add(ContextEntity(crate, name, properties=properties))


def _images(crate: ROCrate, provenance: dict[str, Any]) -> list[Any]:
    """Return what booted: kernel, root file system, tools, modules and programs, each by its digest."""
    found = []
    for name, image in provenance.items():
        if isinstance(image, dict) and "digest" in image:
            identifier = f"#{name}-{image['digest']}"
            properties = {"@type": "PropertyValue", "name": name, "value": image["digest"]}
            if "source" in image:
                properties["description"] = str(image["source"])
            found.append(crate.get(identifier) or crate.add(ContextEntity(crate, identifier, properties=properties)))
    return found


def _file(crate: ROCrate, source: Path, place: Path) -> Any:
    known = crate.get(place.as_posix())
    if known:
        return known
    properties = {
        "name": place.name,
        "contentSize": str(source.stat().st_size),
        "encodingFormat": _FORMATS.get(source.suffix) or mimetypes.guess_type(source.name)[0] or "text/plain",
        "sha256": file_digest(source),
    }
    return crate.add_file(source, place.as_posix(), properties=properties)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
