"""Describes an evaluation's folder as an RO-Crate, so that an archival repository takes the folder as it is.

A Process Run Crate (https://w3id.org/ro/wfrun/process/0.5): what was evaluated, by what, from which scenarios, and
the SHA-256 of each file. Of a run these are run.json and summary.json, which has the digests of captures and traces.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.files import write_text
from common.commit import commit
from images.cache import file_digest
from scenarios.run_files import OF_RUN
from testbed.crates import METADATA, PROCESS, PROFILES, SPDX, TERMS, citation, written

_CONTEXT: Final = ["https://w3id.org/ro/crate/1.1/context", TERMS]


def write(folder: Path, client: str, baseline: str, made: Iterable[Path]) -> None:
    """Write ro-crate-metadata.json into an evaluation's folder; `made` are the files that tell what it found."""
    about = citation()
    profile, version = PROFILES[PROCESS]
    scenarios = sorted(folder.glob("studies/*/*.yaml"))
    runs = sorted(file for name in OF_RUN for file in folder.glob(f"runs/*/*/*/seed-*/{name}"))
    results = [*made, *runs]
    ended_s = max((file.stat().st_mtime for file in runs), default=0)
    ended = written(ended_s)
    title = f"Evaluation of {client} beside {baseline} by the criteria of RFC 9743"
    instrument, author = f"#testbed-{commit()}", "#authors"
    licence = f"{SPDX}{about['license'][0]}"
    entities: list[dict[str, Any]] = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": title,
            "description": "Verdicts, scenarios and runs; every run can be repeated to the byte.",
            "conformsTo": {"@id": PROCESS},
            "license": {"@id": licence},
            "author": {"@id": author},
            "datePublished": ended,
            "hasPart": _references([*scenarios, *results], folder),
            "mentions": {"@id": "#evaluation"},
        },
        {"@id": PROCESS, "@type": "CreativeWork", "name": profile, "version": version},
        {"@id": licence, "@type": "CreativeWork", "name": about["license"][0]},
        {"@id": author, "@type": "Organization", "name": about["authors"][0]["name"]},
        {"@id": instrument, "@type": "SoftwareApplication", "name": about["title"], "version": commit()},
        {
            "@id": "#evaluation",
            "@type": "CreateAction",
            "name": f"testbed evaluate {client} --baseline {baseline}",
            "instrument": {"@id": instrument},
            "agent": {"@id": author},
            "object": _references(scenarios, folder),
            "result": _references(results, folder),
            "endTime": ended,
        },
        *(_file(file, folder) for file in [*scenarios, *results]),
    ]
    write_text(folder / METADATA, json.dumps({"@context": _CONTEXT, "@graph": entities}, indent=1) + "\n")


def _references(files: Iterable[Path], folder: Path) -> list[dict[str, str]]:
    return [{"@id": quote(file.relative_to(folder).as_posix())} for file in files]


def _file(file: Path, folder: Path) -> dict[str, str]:
    [reference] = _references([file], folder)
    size = str(file.stat().st_size)
    return {**reference, "@type": "File", "name": file.name, "contentSize": size, "sha256": file_digest(file)}
