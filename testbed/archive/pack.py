"""Archives results as an RO-Crate, with what made them, ready for an archival repository.

A crate (https://w3id.org/ro/crate/1.1, profile Workflow Run Crate 0.5) has the SHA-256 of each file. It holds captures
only where they are asked for: each run's `summary.json` has the SHA-256 of its captures and traces instead, which a
repeated run must meet (`testbed.archive.verify`).
"""

import glob
import json
import mimetypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from analysis.experiment_files import VERDICTS
from common import sums
from common.archives import ArchiveError, pack, sync
from common.commit import commit
from engine.errors import EngineError
from engine.images import PROJECT
from images.cache import file_digest
from scenarios import scenario_files
from scenarios.cells import plan
from scenarios.run_files import OF_RUN
from testbed.archive import completeness
from testbed.archive.crate import KUNIT, RUNS
from testbed.archive.kinds import PROJECT_FILES, PROJECT_FOLDERS, below
from testbed.crates import METADATA, PROFILES, SPDX, TERMS, citation, written
from testbed.signatures import sign

# which some hosts' tables lack
_FORMATS = {".yaml": "application/yaml", ".md": "text/markdown", ".parquet": "application/vnd.apache.parquet"}


def archive(results: Path, out: Path, captures: bool = False, key: Path | None = None) -> Path:
    """Write the crate of everything measured below `results` (`results`, or `results/quick`); return `out`.

    `out` becomes a folder, or a file if its name ends with .zip. With `captures` it also gets the captures and traces
    of the runs that still have all of theirs. `key` signs it.

    Raises:
        EngineError: nothing has been measured there, something that was run or reported lacks its results, `out` cannot
            be written, or the key cannot sign.
    """
    if os.path.lexists(out):
        raise EngineError(f"{out}: exists; remove it or choose another --out")
    completeness.check(results)
    crate = _crate(results, captures)
    try:
        with _partial(out) as place:
            folder = place / out.name
            crate.write(folder)
            if key is not None:
                sign(folder / METADATA, key)
            _give_name(folder, out)
    except OSError as error:
        raise EngineError(f"{out}: cannot be written ({error.strerror}); choose another --out") from None
    except ArchiveError as error:
        raise EngineError(str(error)) from None
    return out


@contextmanager
def _partial(out: Path) -> Iterator[Path]:
    """Yield a folder beside `out` for what becomes it; remove those that killed calls left."""
    beside = out.absolute().parent
    for left in beside.glob(f".{glob.escape(out.name)}.*.partial"):
        if not Path("/proc", left.name.split(".")[-2]).exists():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    place = beside / f".{out.name}.crate.{os.getpid()}.partial"
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _give_name(folder: Path, out: Path) -> None:
    """Make `out` of a crate, once all of it is on the disk."""
    if out.suffix == ".zip":
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        pack(out, {path.relative_to(folder).as_posix(): path for path in files})
    else:
        os.sync()  # thousands of files in one call
        folder.rename(out)
        sync(out.absolute().parent)


def _crate(results: Path, captures: bool) -> ROCrate:
    """Collect everything that the archive gets."""
    experiments = sorted(file.parent for file in results.glob(f"experiments/*/{VERDICTS}"))
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update(TERMS)
    workflow = _workflow(crate)
    inputs, products = [], []
    made: dict[Path, list[Any]] = {}  # by run, since several experiments may use the same
    for folder in experiments:
        measured = completeness.read(folder)
        inputs += [_file(crate, PROJECT / file, file) for file in _of_study(measured.claims.parent)]
        runs = [run for needed in measured.needs for run in completeness.runs(results, needed)]
        made |= {run: _run(crate, results, run, measured.scenario, captures) for run in runs if run not in made}
        products += [_file(crate, folder / name, Path("experiments", folder.name, name)) for name in completeness.FILES]
    products += [file for files in made.values() for file in files]
    if (results / KUNIT).exists():
        products.append(_file(crate, results / KUNIT, KUNIT))
    for part in ("report", "tables"):
        if (results / part).is_dir():
            products += _folder(crate, results / part, Path(part))
    _action(
        crate,
        workflow,
        identifier="#pipeline",
        object=list(dict.fromkeys(inputs)),
        result=products,
        properties={
            "name": "snakemake, all rules",
            "endTime": written(max(folder.stat().st_mtime for folder in experiments)),
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    return crate


def _workflow(crate: ROCrate) -> Any:
    """Add everything about the crate that is the same for all results; return the workflow."""
    about = citation()
    root = crate.root_dataset
    crate.name = f"Results of the {about['title']}"
    crate.description = about["abstract"].strip()
    crate.keywords = about["keywords"]
    root["conformsTo"] = [
        crate.add(ContextEntity(crate, url, properties={"@type": "CreativeWork", "name": name, "version": version}))
        for url, (name, version) in PROFILES.items()
    ]
    licences = [
        crate.add(ContextEntity(crate, f"{SPDX}{name}", properties={"@type": "CreativeWork", "name": name}))
        for name in about["license"]
    ]
    author = {"@type": "Organization", "name": " and ".join(person["name"] for person in about["authors"])}
    root["author"] = root["publisher"] = crate.add(ContextEntity(crate, "#authors", properties=author))
    root["license"] = licences[0]
    workflow = crate.add_workflow(PROJECT / "Snakefile", "Snakefile", main=True, lang="snakemake")
    workflow["sha256"] = file_digest(PROJECT / "Snakefile")
    workflow["name"], workflow["license"], workflow["creator"] = about["title"], licences, root["author"]
    workflow["version"] = commit()
    for name in PROJECT_FILES:
        if name != workflow.id:
            _file(crate, PROJECT / name, Path(name))
    for name in PROJECT_FOLDERS:
        _folder(crate, PROJECT / name, Path(name))
    return workflow


@cache  # each of its experiments asks
def _of_study(study: Path) -> list[Path]:
    """List what a study's scenarios and claims are read from: its YAML files, and the traces that scenarios name."""
    files = sorted((PROJECT / study).glob("*.yaml"))
    traces = {
        PROJECT / trace for cell in plan(list(scenario_files(PROJECT / study)), "complete") for trace in cell["traces"]
    }
    return [file.relative_to(PROJECT) for file in (*files, *sorted(traces))]


def _run(crate: ROCrate, results: Path, run: Path, scenario: Path, captures: bool) -> list[Any]:
    """Add one run: the action of the testbed that made it, and its files."""
    place = Path(RUNS, *run.relative_to(results / RUNS).parts)
    names = [*OF_RUN, *(_captures(run) if captures else ())]
    files = [_file(crate, run / name, place / name) for name in names]
    provenance = json.loads((run / "run.json").read_text())["provenance"]
    ended = written((run / "summary.json").stat().st_mtime)
    _action(
        crate,
        _testbed(crate, provenance["commit"]),
        identifier=f"#{place}",
        object=[_file(crate, PROJECT / scenario, scenario), *_images(crate, provenance)],
        result=files,
        properties={"name": f"run {place.relative_to(RUNS)}", "endTime": ended},
    )
    return files


def _captures(run: Path) -> list[str]:
    """List the captures and traces of a run, if all are still there."""
    names = list(json.loads((run / "summary.json").read_text())["digests"])
    return names if all((run / name).is_file() for name in names) else []


def _action(crate: ROCrate, instrument: Any, **about: Any) -> None:
    crate.root_dataset.append_to("mentions", crate.add_action(instrument, **about))


def _testbed(crate: ROCrate, version: str) -> Any:
    name = f"#testbed-{version}"
    properties = {"@type": "SoftwareApplication", "name": "testbed run", "version": version}
    return crate.get(name) or crate.add(ContextEntity(crate, name, properties=properties))


def _images(crate: ROCrate, provenance: dict[str, Any]) -> list[Any]:
    """Return what booted: kernel, root file system, tools, modules and programs, each by its digest."""
    entities = []
    for name, image in provenance.items():
        if isinstance(image, dict) and "digest" in image:
            identifier = f"#{name}-{image['digest']}"
            properties = {"@type": "PropertyValue", "name": name, "value": image["digest"]}
            if "source" in image:
                properties["description"] = str(image["source"])
            entities.append(crate.get(identifier) or crate.add(ContextEntity(crate, identifier, properties=properties)))
    return entities


def _folder(crate: ROCrate, source: Path, place: Path) -> list[Any]:
    """Add all files of a folder but the hidden ones and its sums, as the crate has its own."""
    return [_file(crate, source / path, place / path) for path in below(source) if path.name != sums.FILE]


def _file(crate: ROCrate, source: Path, place: Path) -> Any:
    known = crate.get(quote(place.as_posix()))
    if known:
        return known
    properties = {
        "name": place.name,
        "contentSize": str(source.stat().st_size),
        "encodingFormat": _FORMATS.get(source.suffix) or mimetypes.guess_type(source.name)[0] or "text/plain",
        "sha256": file_digest(source),
    }
    return crate.add_file(source, place.as_posix(), properties=properties)
