"""docs/howto/extending.md: its changes, made in a copy of the project, give a run with all that they add."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.site import navigation
from tests.copies import Copy, copied

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/howto/extending.md").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Copy:
    """A copy of the project with the page's files and changes."""
    copy = copied(tmp_path)
    for name, text in re.findall(r"^`([\w/.-]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        (copy.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (copy.folder / name).write_text(text)
    changes = "".join(re.findall(r"^```diff\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    subprocess.run(["patch", "-p1", "--fuzz=0", "--quiet"], cwd=copy.folder, input=changes, text=True, check=True)
    return copy


@pytest.mark.parametrize(
    "section", ["A topology", "A queueing discipline", "A kind of event", "A metric", "A kind of figure", "A product"]
)
def test_an_addition_takes_three_places(section: str) -> None:
    """Files that the section makes or changes, a new folder as one, and the page that its row names."""
    text = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    [own] = [part for part in text if part.startswith(f"{section}\n")]
    files = {*re.findall(r"^`([\w/.-]+)`:\n", own, re.MULTILINE), *re.findall(r"^\+\+\+ b/(.*)", own, re.MULTILINE)}
    changed = {file if (ROOT / file).parent.exists() else str(Path(file).parent) for file in files}
    [row] = [line for line in text[0].splitlines() if re.match(rf"\| {section.lower()}[ ,]", line)]
    pages = set(re.findall(r"docs/[\w./]+", row))
    assert 1 <= len(changed) < 3
    assert pages
    assert len(changed | pages) <= 3


def test_a_new_page_is_in_the_navigation(tmp_path: Path) -> None:
    """No other file names it: neither mkdocs.yml nor the index."""
    docs = shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (docs / "howto/losses.md").write_text("# Losses\n")
    [pages] = [section["How to"] for section in navigation(docs) if isinstance(section, dict) and "How to" in section]
    assert "howto/losses.md" in pages


def test_a_client_is_a_folder_of_its_own() -> None:
    text = (ROOT / "docs/howto/adding-a-client.md").read_text()
    files = re.findall(r"^`([\w.-]+/[\w/.-]+)`[:,]", text, re.MULTILINE)
    assert {str(Path(file).parent) for file in files} == {"images/implementations/mine"}


def test_what_the_page_adds_works_in_one_run(project: Copy) -> None:
    [commands] = re.findall(r"^## All of them.*?^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in commands.splitlines():
        done = project(line)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        last = done.stdout
    assert re.fullmatch(
        r"client=tcp-cubic: [1-9]\d* packets dropped\nclient=tcp-ledbat-mine: \d+ packets dropped\n", last
    )
    run = json.loads((project.folder / "runs/trial/extended/single/seed-1/run.json").read_text())
    assert (run["topology"]["name"], run["bottleneck"]["queue"]) == ("spread", "sfq")
    probe = json.loads((project.folder / "runs/trial/extended/single/seed-1/summary.json").read_text())["probe"]
    assert probe["s2-d2"]["forward_ns"] == pytest.approx(20_000_000, abs=10_000)
    [verdict] = json.loads((project.folder / "out/extended/verdicts.json").read_text())["claims"]
    assert verdict["verdict"] == "holds"
    assert (project.folder / "out/extended/figure.svg").exists()
