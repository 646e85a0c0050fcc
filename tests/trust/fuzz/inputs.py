"""What is fuzzed: for each kind of input, sound ones to begin with, and the code that reads it."""

import gzip
import hashlib
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import unquote

from analysis.__main__ import main as analysis
from analysis.capture.columns import write_columns
from analysis.claims import registry
from analysis.errors import BadInputError
from analysis.figures import svg
from analysis.measure import measure
from common import sums
from engine.errors import EngineError
from engine.run import execute, run_folder
from exec import hand_in
from exec.script import LIMIT_S, ScriptRun
from images.cache import file_digest, tree_digest
from scenarios import STUDY as STUDY_FILE
from scenarios import implementations, rate_traces, scenario_files
from scenarios.errors import ScenarioError
from scenarios.resolve import SIZES, expand, resolve
from testbed.archive import pack, verify
from testbed.crates import METADATA
from testbed.gate import budgets
from testbed.hunt import read_properties
from testbed.interop import pairings
from tests.analysis import crafted, synthetic, test_logs
from tests.analysis.utp_model import Model
from tests.trust.fuzz import mutate

PROJECT: Final = Path(__file__).parents[3]
STUDIES: Final = sorted((PROJECT / "workflows/studies").iterdir())
DATA: Final = PROJECT / "tests/analysis/data"


@dataclass(frozen=True)
class Kind:
    """A kind of input: `make` writes sound ones (files or folders) into a folder, `read` is what is given one."""

    make: Callable[[Path], None]
    read: Callable[[Path], int]
    seal: Callable[[Path], None] | None = None  # gives what was damaged the sums that a forger would
    runs: bool = False  # making it needs images


def damaged(kind: Kind, sound: list[Path], seed: int, into: Path) -> Path:
    """Copy one of the sound inputs into a folder and damage it; half of those that hold sums get new ones."""
    chance = Random(seed)  # noqa: S311 (repeatable on purpose)
    path = _damaged(chance.choice(sound), chance, into)
    if kind.seal and chance.random() < 0.5:
        with suppress(Exception):  # what cannot be sealed stays as it is
            kind.seal(path)
    return path


def _damaged(source: Path, chance: Random, into: Path) -> Path:
    """Damage a file, or in a folder one or two files of it."""
    path = into / source.name
    if source.is_file():
        shutil.copyfile(source, path)
        mutate.damage(path, chance)
        return path
    shutil.copytree(source, path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    for file in chance.sample(files, min(len(files), chance.choice((1, 1, 2)))):
        if chance.random() < 0.05:
            file.unlink()
        else:
            mutate.damage(file, chance)
    return path


def refusing(read: Callable[[Path], object]) -> Callable[[Path], int]:
    """Give 0, or print what the reader refuses and give 2, as the command lines do."""

    def status(path: Path) -> int:
        try:
            read(path)
        except (ScenarioError, BadInputError, EngineError) as error:
            print(error, file=sys.stderr)
            return 2
        return 0

    return status


def _copies(files: list[Path], into: Path) -> None:
    for number, file in enumerate(files):
        shutil.copyfile(file, into / f"{number}-{file.name}")


def _make_scenarios(into: Path) -> None:
    _copies([file for study in STUDIES for file in scenario_files(study)], into)


def _read_scenario(path: Path) -> None:
    for size in SIZES:
        for cell in expand(path, size)[:1]:
            resolve(cell, 1)


def _make_claims(into: Path) -> None:
    _copies([file for study in STUDIES for file in registry.claims_files(study)], into)


def _make_studies(into: Path) -> None:
    for study in STUDIES:
        (into / study.name).mkdir()
        shutil.copyfile(study / STUDY_FILE, into / study.name / STUDY_FILE)


def _make_budgets(into: Path) -> None:
    _copies([PROJECT / "workflows/rulebooks/gate/budgets.yaml"], into)


def _read_implementations(folder: Path) -> None:
    implementations.refuse_wrong(folder=folder)


def _make_implementations(into: Path) -> None:
    for file in sorted(implementations.IMPLEMENTATIONS.glob("*/implementation.yaml")):
        if "\nextends:" in file.read_text():
            continue
        own = into / file.parent.name / file.parent.name
        own.mkdir(parents=True)
        shutil.copyfile(file, own / file.name)


def _make_captures(into: Path) -> None:
    for name in ("utp.pcap", "fuzz.pcap"):
        shutil.copyfile(DATA / name, into / name)
    for made in (crafted.one_flow, crafted.sent_again, crafted.jumping_numbers):
        crafted.write(into / f"{made.__name__}.pcap", made(400))
    model = Model(duration=4.0, lost=(100, 150), first_seq=100)
    model.play()
    for place in (0.0, 0.5):
        seen = [(synthetic.ORIGIN_NS + round(at * synthetic.NS), data) for at, data in model.at(place)]
        (into / f"utp-{place}.pcap").write_bytes(synthetic.pcap(seen))
    (into / "utp.pcapng").write_bytes(synthetic.pcapng(seen))
    (into / "six.pcap").write_bytes(synthetic.pcap([(at, synthetic.over_ipv6(data)) for at, data in seen]))
    (into / "packed.gz").write_bytes(gzip.compress(synthetic.pcap(seen)))


def _read_capture(path: Path) -> int:
    return analysis(["observe", str(path), "--into", "out"])


CLAIMS: Final = """\
experiment: made-by-hand
title: Made by hand
artefact: none
figure: {kind: table}
claims:
  - {id: e01, finding: x, title: Loss, metric: loss, unit: "", source: none, holds: loss_rate() < 1}
  - {id: e02, finding: x, title: Waits, metric: wait, unit: ms, source: none, paper: "3",
     measure: 'waited_ms("tcp").mean(1, 2)'}
"""
STUDY: Final = "paper: {title: Made, authors: [nobody], venue: none}\nfindings: {x: It is so.}\n"


def _make_runs(into: Path) -> None:
    for name, keep in (("captures", True), ("columns", False)):
        root = into / name
        run = synthetic.write(root / "runs", replace(synthetic.plain(), keep_captures=keep))
        if not keep:
            analysis(["columns", str(run)])
        (root / "study.yaml").write_text(STUDY)
        (root / "made.claims.yaml").write_text(CLAIMS)


def _seal_runs(path: Path) -> None:
    for run in path.glob("runs/made/*/*/seed-*"):
        sums.write(run, sums.below(run))


def _read_run(path: Path) -> int:
    claims = path / "made.claims.yaml"
    statuses = []
    for run in path.glob("runs/made/*/*/seed-*"):
        statuses += [analysis(["columns", str(run)]), analysis(["observe", str(run)])]
    statuses.append(analysis(["measure", str(claims), "--runs", str(path / "runs"), "--out", "out"]))
    return max(statuses)


def _make_archives(into: Path) -> None:
    """Two real runs of an experiment, measured, as a folder and as a zip file."""
    scenario = Path("workflows/studies/icccn/fig3-top.yaml")
    (cell,) = expand(PROJECT / scenario, "quick")
    results = into / "results"
    for seed in (1, 2):
        execute(resolve(cell, seed), results / "runs")
        run = run_folder(results / "runs", cell, seed)
        kept = shutil.copytree(run, into / "kept")
        write_columns(run)
        shutil.copytree(kept, run, dirs_exist_ok=True)
        shutil.rmtree(kept)
        sums.write(run, sums.below(run))
    os.chdir(PROJECT)
    measured = measure(scenario.with_suffix(".claims.yaml"), results / "runs", results / "experiments")
    with sums.replacing(measured) as draft:
        for name in ("figure.svg", "figure-narrow.svg", "figure.txt"):
            (draft / name).write_text(name)
    for name in ("crate", "crate.zip"):
        pack.archive(results, into / name, captures=True)
    shutil.rmtree(results)


def _seal_archive(path: Path) -> None:
    metadata = path / METADATA
    data = json.loads(metadata.read_text())
    for entity in data["@graph"]:
        if "sha256" in entity:
            entity["sha256"] = file_digest(path / unquote(entity["@id"]))
    metadata.write_text(json.dumps(data))


def _read_archive(path: Path) -> None:
    """Read everything, but repeat no run."""
    verify._chosen = lambda *_: []
    list(verify.verify(path))


def make_hand_ins(into: Path) -> None:
    """One zip file of a script that prints a word."""
    folder = into / "script"
    folder.mkdir()
    (folder / "run.py").write_text("print('measured')\n")

    def run(_order: ScriptRun, results: Path, **_: object) -> dict[str, Any]:
        results.mkdir()
        (results / "stdout.txt").write_text("measured\n")
        return {"exit_status": 0, "provenance": {"commit": "0" * 40}, "digests": tree_digest(results)}

    vars(hand_in)["run_script"] = run
    words = ("python3", "run.py")
    order = ScriptRun(words=words, folder=folder, beside=folder, limit_s=LIMIT_S)
    hand_in.run(order, into / "results", into / "handed-in.zip")
    shutil.rmtree(folder)
    shutil.rmtree(into / "results")


class _WouldRunError(Exception):
    """Nothing is left to be read."""


def seal_hand_in(path: Path) -> None:
    """Write the digests of what is there."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    order = json.loads(members.pop(hand_in.ORDER))
    order["digests"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {hand_in.ORDER: json.dumps(order).encode(), **members}.items():
            archive.writestr(name, data)


def _read_hand_in(path: Path) -> None:
    """Read everything, but do not run the script."""

    def run(*_: object, **__: object) -> dict[str, Any]:
        raise _WouldRunError

    vars(hand_in)["run_script"] = run
    with suppress(_WouldRunError):
        list(hand_in.verify(path))


def _make_logs(into: Path) -> None:
    """What other programs wrote: iperf3, flent, qlog in all its forms, and a link of Mahimahi."""
    texts = {"iperf3.json": json.dumps(test_logs.of_iperf3()), "flent.json": json.dumps(test_logs.of_flent())}
    texts |= {f"{number}.qlog": text for number, text in enumerate(test_logs.forms().values())}
    rows = "".join(f"{ms} + 1504\n{ms} # 1504\n{ms + 30} - 1504 30\n" for ms in range(0, 2000, 20))
    texts["uplink.log"] = f"# mahimahi mm-link (uplink) [a.up] > uplink.log\n{rows}"
    for name, text in texts.items():
        (into / name).write_text(text)


def _make_traces(into: Path) -> None:
    (into / "steps.csv").write_text("time_s,rate_bps\n0,5000000\n0.25,2000000\n0.5,2000000\n3,1000000\n")
    (into / "opportunities.mahi").write_text("\n".join(map(str, [*range(5, 100, 10), *range(100, 200, 5), 200])))


def _read_trace(path: Path) -> None:
    try:
        rate_traces.steps({"file": path.name, "step_ns": 10**8}, path.parent, 60 * 10**9, Random(1))  # noqa: S311
    except rate_traces.TraceError as error:
        raise EngineError(str(error)) from None


def _make_properties(into: Path) -> None:
    _copies(sorted(read_properties.FOLDER.glob("*.yaml")), into)


def _make_scripts(into: Path) -> None:
    _copies(sorted((PROJECT / "workflows/rulebooks/interop/scripts").glob("*.utp")), into)


KINDS: Final[dict[str, Kind]] = {
    "scenario": Kind(_make_scenarios, refusing(_read_scenario)),
    "claims": Kind(_make_claims, refusing(registry.load)),
    "study": Kind(_make_studies, refusing(registry.load_study)),
    "budgets": Kind(_make_budgets, refusing(budgets.load)),
    "implementation": Kind(_make_implementations, refusing(_read_implementations)),
    "capture": Kind(_make_captures, _read_capture),
    "log": Kind(_make_logs, _read_capture),
    "rate trace": Kind(_make_traces, refusing(_read_trace)),
    "packet script": Kind(_make_scripts, refusing(lambda path: pairings.read_scripts([path]))),
    "property": Kind(_make_properties, refusing(read_properties.load)),
    "run folder": Kind(_make_runs, _read_run, _seal_runs),
    "archive": Kind(_make_archives, refusing(_read_archive), _seal_archive, runs=True),
    "hand-in": Kind(make_hand_ins, refusing(_read_hand_in), seal_hand_in),
}


def without_drawing() -> None:
    """Leave out the last step of a picture, from its specification to SVG: it takes a second, and reads no input."""
    svg.plain = lambda specification: "<svg></svg>"
