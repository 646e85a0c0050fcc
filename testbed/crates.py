"""What the RO-Crates of all products have in common."""

from datetime import UTC, datetime
from typing import Any, Final

import yaml

from engine.images import PROJECT

METADATA: Final = "ro-crate-metadata.json"
SIGNATURE: Final = f"{METADATA}.sig"
PROCESS: Final = "https://w3id.org/ro/wfrun/process/0.5"
PROFILES: Final = {
    PROCESS: ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
TERMS: Final = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
SPDX: Final = "https://spdx.org/licenses/"


def citation() -> dict[str, Any]:
    """Read what the project says about itself."""
    about: dict[str, Any] = yaml.safe_load((PROJECT / "CITATION.cff").read_text())
    return about


def written(seconds: float) -> str:
    """Return an instant, in seconds since 1970, as crates have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
