"""What is due after a line of source has changed, and what is not."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from engine import sources

ROOT = Path(__file__).parents[2]
RUNS = {"runs toy-one", "runs toy-two"}
MEASURED = {"measurements_due toy-one", "measurements_due toy-two"}
REPORT = {"measurements reproduce", "tables reproduce", "report reproduce"}
EVERYTHING = RUNS | MEASURED | REPORT
# what is edited at a time, and what is due then
EDITS = [
    (["engine/guest/flows.py", "topologies/named/dumbbell.py"], EVERYTHING),
    (["images/tcp_ledbat_research/variants.c"], EVERYTHING | {"images"}),
    (
        ["images/implementations/libutp/endpoint.cpp"],
        {"program libutp", "runs toy-two", "measurements_due toy-two"} | REPORT,
    ),
    (["images/implementations/tcp-reno/implementation.yaml"], EVERYTHING - {"runs toy-two"}),
    (["analysis/capture/columns.py"], EVERYTHING),
    (["analysis/run/bottleneck.py"], MEASURED | REPORT),
    (["workflows/studies/toy/one.claims.yaml"], {"measurements_due toy-one"} | REPORT),
    (["analysis/tables/over_runs.py"], {"tables reproduce", "report reproduce"}),
    (["analysis/figures/page.py", "analysis/report/templates/experiment.html"], {"report reproduce"}),
    (["requirements.lock"], EVERYTHING),  # other people's code, from columns on
    (["testbed/shared/metrics.py", "engine/doctor.py", "images/ansible/site.yml"], set()),
]


def due(pipeline: Any) -> set[str]:
    """Rules and what they work on, as a dry run lists them."""
    listed = pipeline("--dry-run", "--quiet", "host")
    modules = set()
    for rule, body in re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)*)", listed, flags=re.MULTILINE):
        about = dict(re.findall(r"(\w+)=([^,\n]+)", "".join(re.findall(r"wildcards: (.*)", body))))
        modules.add(" ".join([rule, *(about[name] for name in ("experiment", "program", "target") if name in about)]))
    return modules - {"reproduce"}


def test_what_is_due_after_a_line_has_changed(small: Any) -> None:
    two = small.folder / "workflows/studies/toy/two.yaml"
    two.write_text(two.read_text().replace("tcp-reno", "libutp"))
    small()
    wrong = {}
    for names, expected in EDITS:
        before = {small.folder / name: (small.folder / name).read_bytes() for name in names}
        for file, content in before.items():
            file.write_bytes(content + b"\n")
        named = due(small)
        for file, content in before.items():
            file.write_bytes(content)
        if named != expected:
            wrong[names[0]] = named
    assert wrong == {}
    # as it was: what had been made of it is up to date again
    assert due(small) == set()


def test_a_stage_is_made_of_the_interpreter_and_of_packages() -> None:
    about = sources.environment()
    assert about["python"] == f"{sys.implementation.name} {sys.version}"
    packages = about["packages"]
    assert isinstance(packages, dict)
    assert {"numpy", "polars", "scipy", "vl-convert-python", "jinja2"} & packages.keys() >= {"numpy", "polars"}
    assert packages["numpy"] == version("numpy")


def test_what_a_stage_is_made_of_is_what_it_imports() -> None:
    """Every module of the project that Python loads for a stage is one that its digest covers."""
    stages = {
        "analysis.capture.columns": set(),
        "analysis.measure": {"analysis/judge/tolerances.yaml"},
        "analysis.tables.over_runs": set(),
        "analysis.report": {"analysis/report/templates/index.html"},
        "analysis.figures.draw": set(),
        "engine.run": {"engine/guest/confine.c"},
    }
    for module, data in stages.items():
        code = f"import sys, {module}; print(*(getattr(m, '__file__', None) or '' for m in list(sys.modules.values())))"
        loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        files = {Path(name).relative_to(ROOT) for name in loaded.stdout.split() if name.startswith(f"{ROOT}/")}
        own = {
            str(file) for file in files if file.suffix == ".py" and file.parts[0] in ("analysis", "engine", "images")
        }
        covered = {str(file.relative_to(ROOT)) for file in sources.sources([module])}
        assert own
        assert (own | data) - covered == set(), module


def test_measuring_does_not_depend_on_how_figures_and_pages_look() -> None:
    covered = {file.parent.relative_to(ROOT).as_posix() for file in sources.sources(["analysis.measure"])}
    assert not covered & {"analysis/report", "analysis/report/templates"}
    names = {file.name for file in sources.sources(["analysis.measure"])}
    assert not names & {"draw.py", "time_series.py", "page.py"}


def test_an_unknown_module_is_named() -> None:
    with pytest.raises(ValueError, match=r"analysis\.nothing: found no such module"):
        sources.sources(["analysis.nothing"])
