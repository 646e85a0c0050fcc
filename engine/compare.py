"""Carries out `testbed compare`: fills scenarios with the named implementations and hands them to the pipeline."""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from engine.errors import EngineError
from scenarios import implementations, load
from scenarios.errors import Problem, ScenarioError, choices
from scenarios.resolve import expand

ROOT = Path(__file__).parents[1]
PANEL = ROOT / "workflows" / "compare"
SNAKEFILE = PANEL / "Snakefile"
STUDY = "compare"
# matrix names whose values are the implementations; a flow's `implementation: "${client}"` stands for one
CLIENT, RIVAL = "client", "rival"
# in a folder's name: braces are wildcards to Snakemake, surrogates stand for bytes that are not UTF-8
_REFUSED = re.compile("[{}\ud800-\udfff]")


def compare(names: Sequence[str], scenarios: Sequence[str], seeds: int, into: Path) -> NoReturn:
    """Compare implementations in scenarios (none: the whole panel): write the scenarios, then become the pipeline.

    Everything is kept in the folder `into`/<the names>; a second call continues there.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    _check_names(names)
    if seeds < 1:
        raise EngineError(f"--seeds: found {seeds}; allowed: a whole number, at least 1")
    files = [_find(scenario) for scenario in scenarios] or panel()
    if _REFUSED.search(str(into.absolute())):
        raise EngineError(f"--into: found {str(into.absolute())!r}; allowed: UTF-8 text without {{ and }}")
    folder = into.absolute() / "-".join(names)
    folder = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    study = ROOT / folder / "studies" / STUDY
    written = {study / file.name: filled(file, names, seeds) for file in files}
    if len(written) < len(files):
        raise EngineError(f"--scenario: found two files of one name; allowed: {choices(sorted({*map(str, files)}))}")
    _write(study, written)
    # Snakemake reads the value as YAML, which has JSON's quoted texts; it strips quotes unless blanks are around them
    order = f"comparison= {json.dumps(str(folder), ensure_ascii=False)} "
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--cores", "all", "--config", order]
    os.chdir(ROOT)
    os.execv(command[0], command)  # noqa: S606 (signals and the exit status are the pipeline's)


def panel() -> list[Path]:
    """List the scenarios of a comparison that names none."""
    return sorted(PANEL.glob("*.yaml"))


def filled(scenario: Path, names: Sequence[str], seeds: int) -> str:
    """Return the text of a scenario that compares these implementations.

    Raises:
        ScenarioError: the file has no place for them, or is not a scenario.
    """
    expand(scenario, "full")
    document = load.read(scenario)
    data: dict[str, Any] = document.data
    matrix = data.get("matrix", {})
    if CLIENT not in matrix or not any(flow["name"] == CLIENT for flow in data["flows"]):
        allowed = f'a matrix name `{CLIENT}`, and a flow of that name with implementation "${{{CLIENT}}}"'
        raise ScenarioError([Problem(scenario, 1, "matrix", f"has no place for what is compared, {CLIENT}", allowed)])
    data["matrix"] = {name: list(names) if name in (CLIENT, RIVAL) else values for name, values in matrix.items()}
    data["seeds"] = {"full": seeds}
    return f"# {scenario.name}, filled by `testbed compare`\n" + yaml.safe_dump(data, sort_keys=False, width=120)


def _check_names(names: Sequence[str]) -> None:
    known = implementations.known()
    for name in names:
        if name not in known:
            raise EngineError(f"unknown implementation {name!r}; allowed: {choices(sorted(known), name)}")
        if "sender" not in known[name]["roles"]:
            raise EngineError(f"{name} cannot send; allowed: an implementation with role sender")
    if len(set(names)) < max(2, len(names)):
        raise EngineError(f"found {', '.join(names)}; allowed: two or more different implementations")


def _find(scenario: str) -> Path:
    """Find a scenario of the panel by its name, any other by its path."""
    known = {file.stem: file for file in panel()}
    found = known.get(scenario, Path(scenario))
    if not found.is_file():
        raise EngineError(
            f"--scenario: found {scenario!r}, no file; allowed: {choices(sorted(known), scenario)}, or a file"
        )
    return found


def _write(study: Path, texts: dict[Path, str]) -> None:
    """Write the study. An unchanged file keeps its time, so its runs are kept."""
    study.mkdir(parents=True, exist_ok=True)
    for file in study.glob("*.yaml"):
        if file not in texts:
            file.unlink()
    for file, text in texts.items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
