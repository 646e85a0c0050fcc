"""What results depend on besides their inputs: code and images, which no rule names.

A note keeps a digest of each. The notes lie beside the results whose age they are compared with; several processes of
one pipeline read them.
"""

import json
import os
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import Final

from snakemake.exceptions import WorkflowError

from images import index
from testbed import notes

STAGES: Final = {
    "plan": "scenarios.cells,topologies",
    "claims": "analysis.claims.plan",
    "kunit": "engine.kunit",
    "columns": "analysis.capture.columns",
    "measure": "analysis.measure",
    "tables": "analysis.tables.over_runs",
    "figures": "analysis.figures",
    "report": "analysis.report",
    "site": "testbed",
}
"""What each stage executes, with everything that it imports; several modules have commas between them."""


class Sources:
    """The notes on this checkout's code and images, below `folder`."""

    def __init__(self, folder: Path, cache: str, backend: str) -> None:
        self._folder = folder
        self._cache = cache
        self._backend = backend

    @cached_property
    def _listed(self) -> dict[str, dict[str, str]]:
        stages = [f"{stage}={modules}" for stage, modules in STAGES.items()]
        command = [sys.executable, "-P", "-m", "engine.sources", self._backend, *stages]
        listed: dict[str, dict[str, str]] = json.loads(subprocess.check_output(command))
        return listed

    @property
    def digests(self) -> dict[str, str]:
        """The digest of the code of each stage, and of `runs`."""
        return self._listed["code"]

    @property
    def _images(self) -> dict[str, str]:
        return self._listed["images"]

    def code(self, stage: str) -> str:
        """Return the note on the code of a stage: `runs`, or one of STAGES."""
        return f"{self._folder}/{stage}"

    def index(self, name: str) -> str:
        """Return where the cache lists the images that boot, or a program, once built from the current sources."""
        return f"{self._cache}/{self._images[name]}"

    def image(self, name: str) -> str:
        """Return the note on the images that boot, or on a program: a copy of its index."""
        return f"{self._folder}/images/{name}.json"

    def request(self, name: str) -> str:
        """Return a file that is newer than that copy as long as it is not built from the current sources."""
        return f"{self._folder}/images/{name}.wanted"

    def log(self, name: str) -> str:
        """Return the log of what builds these images."""
        return f"{self._folder}/images/{name}.log"

    @property
    def debug_kernel(self) -> str:
        """The note on the sources of the debug kernel: the module's tests do not wait for it; they build it."""
        return f"{self._folder}/debug"

    def lost(self, size: str, what: str) -> str:
        """Return a note that is newer than what rules make as long as some of it is lost (`testbed.pipeline.lost`).

        `what` is `report`, `kunit`, or `runs` or `experiments` with an experiment below it.
        """
        note = self._folder / "lost" / size / what
        if not note.exists():
            notes.keep(note, "none")
        return str(note)

    def tell_lost(self, size: str, what: str) -> None:
        """Make that note newer than all there is."""
        notes.keep(self._folder / "lost" / size / what, _now())

    def compare(self) -> None:
        """Compare the notes with what is there, before Snakemake looks at their age."""
        _refuse_old_extension()
        for stage, digest in self.digests.items():
            notes.keep(Path(self.code(stage)), digest)
        for name in self._images:
            built, request = Path(self.index(name)), Path(self.request(name))
            if built.exists():
                notes.keep(Path(self.image(name)), built.read_text())
                notes.keep(request, "built")
                built_ns = Path(self.image(name)).stat().st_mtime_ns
                os.utime(request, ns=(built_ns, built_ns))
            else:
                notes.keep(request, _now())
        notes.keep(Path(self.debug_kernel), self._images[index.DEBUG])


def _refuse_old_extension() -> None:
    """Refuse to read captures with a compiled module that is older than its sources."""
    folder = Path("analysis/capture")
    built = [file.stat().st_mtime for file in folder.glob("*.so")]
    if built and min(built) < max(file.stat().st_mtime for file in folder.glob("*.[ch]")):
        raise WorkflowError(f"{folder} has changed since it was compiled: `make env` does that")


def _now() -> str:
    """Return a new text each time: Snakemake considers a file with unchanged content as old as before."""
    return f"at {time.time()}"
