"""Which package of the project may know which others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DRAWING = (ROOT / "docs/images/house.svg").read_text()
NAMED = re.findall(r">(\w+)</text>", DRAWING)
PACKAGES = {*NAMED, "tests", "workflows"}
MAY_KNOW = {package: set(re.findall(rf'id="{package}-uses-(\w+)"', DRAWING)) for package in NAMED}


def imported(file: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("package", MAY_KNOW)
def test_a_package_knows_only_those_below_it(package: str) -> None:
    for file in (ROOT / package).rglob("*.py"):
        known = {name.partition(".")[0] for name in imported(file)} & PACKAGES
        assert known - {package} <= MAY_KNOW[package], file


def test_the_drawing_has_each_import_and_no_other() -> None:
    for package, below in MAY_KNOW.items():
        names = (name.partition(".")[0] for file in (ROOT / package).rglob("*.py") for name in imported(file))
        assert {name for name in names if name in PACKAGES} - {package} == below, package


def test_a_package_reads_nothing_of_the_pipeline() -> None:
    """What it needs from there comes by a command's arguments. One speed test compares with the reference set."""
    for package in set(MAY_KNOW) - {"testbed"}:
        for file in set((ROOT / package).rglob("*.py")) - {ROOT / "engine/bench/papers.py"}:
            assert not re.search(r"[\"/]workflows[\"/]", file.read_text()), file


def test_a_product_knows_no_other() -> None:
    """A product has a folder in testbed/; what products share is `testbed.shared` and the files beside the folders."""
    products = {file.parent.name for file in (ROOT / "testbed").glob("*/__init__.py")} - {"shared"}
    assert len(products) > 10
    for file in (ROOT / "testbed").rglob("*.py"):
        known = {name.split(".")[1] for name in imported(file) if name.startswith("testbed.")} & products
        assert known <= {file.parent.relative_to(ROOT / "testbed").name}, file


def test_what_runs_in_a_guest_knows_nothing_of_the_host() -> None:
    """A guest has these two folders, the standard library and Mininet."""
    for file in (ROOT / "engine" / "guest").rglob("*.py"):
        own = [name for name in imported(file) if name.partition(".")[0] in PACKAGES]
        assert all(name.startswith(("engine.guest.", "topologies.")) for name in own), file


# each with what it stands for besides
TWICE = {
    "Verdict": "of a claim of a paper, with the words of papers, and of any other statement",
    "Observation": "what a notebook gets of files from anywhere",
    "Run": "what a notebook gets: an `analysis.run.Run` that is found by its folder",
}
APART = ("engine/guest", "images", "tests")


def test_a_class_has_a_name_of_its_own() -> None:
    """What runs in guests, what builds images, and tests have names for themselves."""
    names: dict[str, list[str]] = {}
    for package in sorted(MAY_KNOW):
        for file in (ROOT / package).rglob("*.py"):
            place = str(file.relative_to(ROOT))
            if not place.startswith(APART):
                for node in ast.walk(ast.parse(file.read_text())):
                    if isinstance(node, ast.ClassDef):
                        names.setdefault(node.name, []).append(place)
    assert {name: places for name, places in names.items() if len(places) > 1 and name not in TWICE} == {}


def orphans(node: ast.AST) -> Iterator[int]:
    """Lines of texts that stand where neither Python nor a reader takes them for anybody's docstring."""
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        before: ast.AST | None = None
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                of_what_it_is_in = before is None and field == "body" and isinstance(node, ast.Module | ast.ClassDef)
                of_function = before is None and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                of_name = isinstance(before, ast.Assign | ast.AnnAssign)
                if not (of_what_it_is_in or of_function or of_name) and statement.value.value is not ...:
                    yield statement.lineno
            before = statement


def test_a_docstring_belongs_to_something() -> None:
    """It is a module's, a class's or a function's first statement, or follows the name whose value it explains."""
    assert list(orphans(ast.parse('A = 1\n"""Of A."""\n"""Of what is gone."""\n'))) == [3]
    for package in PACKAGES - {"workflows"}:
        for file in (ROOT / package).rglob("*.py"):
            lines = [line for node in ast.walk(ast.parse(file.read_text())) for line in orphans(node)]
            assert lines == [], file


ONLY_WHAT_THE_WHEEL_ASKS_FOR = """\
import sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement

allowed, due = {"ledbat-testbed"}, ["ledbat-testbed"]
while due:
    for line in requires(due.pop()) or []:
        one = Requirement(line)
        name = one.name.lower().replace("_", "-")
        if (one.marker is None or one.marker.evaluate({"extra": ""})) and name not in allowed:
            allowed.add(name)
            due.append(name)
others = {
    module
    for module, names in packages_distributions().items()
    if not allowed & {name.lower().replace("_", "-") for name in names}
}
for module in [name for name in sys.modules if name.partition(".")[0] in {*others, "packaging"}]:
    del sys.modules[module]

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in others:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Refuse())
import testbed.cli
import analysis.__main__
"""


def test_the_wheel_asks_for_all_that_its_command_imports() -> None:
    command = [sys.executable, "-c", ONLY_WHAT_THE_WHEEL_ASKS_FOR]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_release_has_one_version() -> None:
    in_file = {
        "pyproject.toml": r'^version = "(.+)"',
        "CITATION.cff": "^version: (.+)",
        "docs/howto/gate.md": "@v(.+)$",
    }
    versions = {name: re.findall(pattern, (ROOT / name).read_text(), re.M)[-1] for name, pattern in in_file.items()}
    assert len(set(versions.values())) == 1, versions


def test_the_changelog_begins_with_the_release() -> None:
    about = (ROOT / "CITATION.cff").read_text()
    told = [re.findall(rf'^{name}: "?([^"\n]+)', about, re.M)[0] for name in ("version", "date-released")]
    assert re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == ", ".join(told)


@pytest.mark.parametrize("package", sorted(path.parents[1] for path in ROOT.glob("images/*/debian/changelog")), ids=str)
def test_a_module_has_one_version(package: Path) -> None:
    sources = "".join(source.read_text() for source in package.glob("*.c"))
    versions = set(re.findall(r'^MODULE_VERSION\("(.+)"\);', sources, re.M))
    versions |= set(re.findall(r'^PACKAGE_VERSION="(.+)"', (package / "dkms.conf").read_text(), re.M))
    versions |= set(re.findall(r"^\S+ \((.+)\) ", (package / "debian/changelog").read_text(), re.M)[:1])
    assert len(versions) == 1, versions
