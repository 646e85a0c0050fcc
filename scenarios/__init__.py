"""What a scenario may say: reading, schema, units, checks, and the resolution to run.json. Needs no guest."""

from collections.abc import Iterator
from pathlib import Path

STUDY = "study.yaml"
CLAIMS = ".claims.yaml"


def scenario_files(study: Path) -> Iterator[Path]:
    """Yield the scenarios in the folder of a study; a file with claims lies beside each."""
    for file in sorted(study.glob("*.yaml")):
        if file.name != STUDY and not file.name.endswith(CLAIMS):
            yield file
