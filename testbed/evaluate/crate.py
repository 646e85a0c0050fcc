"""Describes an evaluation's folder as an RO-Crate, so that an archival repository takes the folder as it is.

A Process Run Crate (https://w3id.org/ro/wfrun/process/0.5): what was evaluated, by what, from which scenarios, and
the SHA-256 of each file. Of a run these are run.json and summary.json, which has the digests of captures and traces.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import yaml

from analysis.files import write_text
from engine.images import PROJECT
from images.cache import file_digest
from images.commit import commit
from testbed.archive.crate import METADATA, OF_RUN

_PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT: Final = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
_SPDX: Final = "https://spdx.org/licenses/"


def write(folder: Path, client: str, baseline: str, made: Iterable[Path]) -> None:
    """Write ro-crate-metadata.json into an evaluation's folder; `made` are the files that tell what it found."""
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    scenarios = sorted(folder.glob("studies/*/*.yaml"))
    runs = sorted(file for name in OF_RUN for file in folder.glob(f"runs/*/*/*/seed-*/{name}"))
    results = [*made, *runs]
    ended_s = max((file.stat().st_mtime for file in runs), default=0)
    ended = datetime.fromtimestamp(ended_s, UTC).isoformat(timespec="seconds")
    title = f"Evaluation of {client} beside {baseline} by the criteria of RFC 9743"
    instrument, author = f"#testbed-{commit()}", "#authors"
    licence = f"{_SPDX}{citation['license'][0]}"
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
            "conformsTo": {"@id": _PROFILE},
            "license": {"@id": licence},
            "author": {"@id": author},
            "datePublished": ended,
            "hasPart": _references([*scenarios, *results], folder),
            "mentions": {"@id": "#evaluation"},
        },
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {"@id": licence, "@type": "CreativeWork", "name": citation["license"][0]},
        {"@id": author, "@type": "Organization", "name": citation["authors"][0]["name"]},
        {"@id": instrument, "@type": "SoftwareApplication", "name": citation["title"], "version": commit()},
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
