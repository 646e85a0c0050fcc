"""Files that people write: YAML with line numbers, schemas, units. Knows no other package of the project."""

from collections.abc import Iterator
from pathlib import Path

STUDY = "study.yaml"
CLAIMS = ".claims.yaml"


def scenario_files(study: Path) -> Iterator[Path]:
    """List the scenarios in the folder of a study; a file with claims lies beside each."""
    for file in sorted(study.glob("*.yaml")):
        if file.name != STUDY and not file.name.endswith(CLAIMS):
            yield file
