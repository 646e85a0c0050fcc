"""`python -m testbed.simulator`: run cells that have no results yet."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from analysis.documents import read_json
from analysis.files import write_text
from analysis.ns2 import RESULTS, cells
from images import index, lock
from images.cache import Store, default_root, file_digest
from images.errors import ImageError
from images.ns2.build import Simulator, build
from testbed.folders import WORKFLOWS
from testbed.simulator.run import SCRIPT, SimulatorError, numbers

FOLDER: Final = WORKFLOWS / "ns2"
KEPT: Final = FOLDER / RESULTS


def main() -> int:
    """Return 0, or 1 after one sentence about what failed."""
    argparse.ArgumentParser(prog="python -m testbed.simulator", description=__doc__).parse_args()
    try:
        store = Store(default_root(), print)
        simulator = lock.renewing(store, print, lambda: build(store, print))
        index.register(store.root)
        _run(simulator)
    except (ImageError, SimulatorError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _run(simulator: Simulator) -> None:
    """Run what is missing, or was made by another ns-2 or script; results are kept after each cell."""
    made_by = {"ns2": simulator.digest, "script": file_digest(SCRIPT)}
    kept: dict[str, Any] = read_json(KEPT).data if KEPT.exists() else {}
    results: dict[str, Any] = kept["cells"] if kept.get("made_by") == made_by else {}
    for cell in cells(FOLDER):
        if len(results.get(cell.id, {}).get("jain", [])) != cell.seeds:
            results[cell.id] = {name: _rounded(values) for name, values in numbers(simulator, cell).items()}
            _keep(KEPT, made_by, results)
            print(cell.id, flush=True)
    _keep(KEPT, made_by, {cell.id: results[cell.id] for cell in cells(FOLDER)})


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _keep(file: Path, made_by: dict[str, str], results: dict[str, Any]) -> None:
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(results[name])}" for name in results)
    write_text(file, f'{{\n"made_by": {json.dumps(made_by)},\n"cells": {{\n{lines}\n}}\n}}\n')


if __name__ == "__main__":
    sys.exit(main())
