"""The page that says which verdicts changed between two reference sets, and why."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis import changes
from analysis.__main__ import main

ROOT = Path(__file__).parents[2]
HALF = {str(seed): 0.5 for seed in range(1, 21)}
FULL = {str(seed): 1.0 for seed in range(1, 21)}


def study(folder: Path) -> Path:
    """Claims as they are today; the paper prints 0.5 for each."""
    folder.mkdir()
    same = {"title": "T.", "metric": "m", "paper": "0.5", "unit": "1", "source": "sec. 1", "measure": "share('tcp')"}
    claims = [{"id": name, **same} for name in ("e01", "e02", "e03", "e04", "e05")]
    claims[1] |= {"cause": {"text": "Flow 1 has 0.5 of it.", "evidence": "unknown"}}
    claims[3] |= {"measure": "share('ledbat')", "cause": {"text": "Half of it.", "evidence": "unknown"}}
    claims += [{"id": "e06", **same, "not_testable": {"reason": "impossible here"}}]
    claims += [{"id": "e07", "same_as": "y/e01"}]
    experiment = {"experiment": "x", "title": "t", "artefact": "Fig. 1", "finding": "f", "figure": {"kind": "table"}}
    (folder / "x.claims.yaml").write_text(yaml.safe_dump({**experiment, "claims": claims}))
    return folder


def recorded(folder: Path, **claims: tuple[str, dict[str, float] | None]) -> Path:
    """A reference set of claims by the last part of their ids: verdict and numbers."""
    folder.mkdir()
    kept: dict[str, Any] = {
        f"x/{name}": {"verdict": verdict, "by_seed": numbers, "held": None, "check": "share('tcp')"}
        for name, (verdict, numbers) in claims.items()
    }
    (folder / "x.json").write_text(json.dumps({"claims": kept}))
    return folder


def test_each_change_stands_under_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = recorded(
        tmp_path / "before",
        e01=("near", HALF),
        e02=("reproduced", HALF),
        e03=("near", HALF),
        e04=("reproduced", HALF),
        e06=("reproduced", HALF),
        e07=("reproduced", HALF),
        e08=("reproduced", HALF),
    )
    now = recorded(
        tmp_path / "now",
        e01=("reproduced", HALF),
        e02=("not reproduced", FULL),
        e03=("not reproduced", FULL),
        e04=("reproduced", HALF),
        e06=("not testable", None),
        e07=("reproduced", HALF),
        e05=("reproduced", HALF),
    )
    out = tmp_path / "page.md"
    sets = ["--before", str(before), "--reference", str(now)]
    assert main(["changes", str(study(tmp_path / "s")), *sets, "--out", str(out)]) == 0
    assert capsys.readouterr().out == "Other numbers than before; read their explanations again:\nx/e02\n"
    page = out.read_text()
    for line in (
        "| near | reproduced | 2: x/e01 e03 |",
        "| x/e03 | reproduced | not reproduced | mean 0.5 of 20 seeds | mean 1 of 20 seeds |",
        "| x/e02 | reproduced | not reproduced | mean 0.5 of 20 seeds | mean 1 of 20 seeds |",
        # the set that is called new still has the numbers of what was asked before
        "| x/e04 | reproduced | not measured | `share('tcp')` | `share('ledbat')` |",
        "| x/e06 | reproduced | not testable | `share('tcp')` | `not testable: impossible here` |",
        "| now shown from another experiment and counted there | 1 |",
        "| gone | x/e08 |",
        "| new | x/e05 |",
    ):
        assert line in page.splitlines()


def test_the_page_is_made_of_the_reference_set_that_is_kept() -> None:
    made_of = changes.MADE.format(changes.digest(ROOT / "workflows/reference"))
    said = "make docs/verdict-changes.md anew, as docs/claims.md says under Reference set"
    assert made_of in (ROOT / "docs/verdict-changes.md").read_text(), said
