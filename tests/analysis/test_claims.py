import functools
import inspect
import json
import math
import re
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from analysis import readings
from analysis.capture.columns import write_columns
from analysis.claims import expressions, kinds, registry
from analysis.claims.plan import plan
from analysis.claims.question import Question
from analysis.claims.reads import runs_named
from analysis.claims.syntax import is_about_means
from analysis.documents import Fields
from analysis.errors import BadExpressionError, BadInputError
from analysis.figures.numbers import numbers_of
from analysis.measure import measure
from analysis.reference.files import read
from analysis.report import prose
from analysis.run import Run, bottleneck
from analysis.runs import Runs
from analysis.series import Instants, Series
from analysis.words import properties
from analysis.words import words as words_of
from scenarios.resolve import expand, resolve
from tests.analysis.synthetic import plain, vouch, write

ROOT = Path(__file__).parents[2]
MOST_QUOTED = 25  # words


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    root = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        made = plain()
        made.seed = seed
        made.queue = [(0.0, 0), (2.0, 10 * seed)]
        made.cwnd = {"tcp": [(0.0, 1), (3.0, 9), (6.0, 2)]}
        write_columns(write(root, made))
    other = plain()
    other.experiment, other.cell = "another", "case=a"
    write_columns(write(root, other))
    return Runs(root)


def ask(runs: Runs, expression: str, **words: str) -> dict[int, float]:
    return Question(runs, "made-by-hand", words).numbers(expression, None)[0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("queue_pkts.at(1)", 0),
        ("cwnd('tcp').max()", 9),
        ("drops('tcp').count()", 3),
        ("min([t for t in drops().times])", 5.0001),
        ("len(drops().episodes(1))", 1),
        ("target_pkts('ledbat')", 25),
        ("duration - steady", 10 / 3),
        ("cwnd('tcp').first_time_above(100)", math.inf),
        ("len([drops().times[7] for a in [1, 2] if a > 2])", 0),
        ("sum([a * b for a in [1, 2] for b in [3, 4]])", 21),
        ("1e3 * cwnd('tcp').first_time_above(100)", math.inf),
        ("run('another', 'case=a').share('ledbat', 1, 5)", 0.2),
        ("twice + late", 14),
    ],
)
def test_words(runs: Runs, expression: str, value: float) -> None:
    assert ask(runs, expression, late="12", twice="late - 10")[1] == pytest.approx(value)


def test_a_curve_may_show_the_same_cell_of_another_experiment(tmp_path: Path) -> None:
    for experiment, packets in (("one", 4), ("other", 9)):
        made = plain()
        made.experiment, made.cell = experiment, "buffer=40p"
        made.changes = {"cell_values": {"buffer": "40p"}}
        made.queue = [(0.0, packets)]
        write_columns(write(tmp_path, made))
    lines = {"here": "queue_pkts.at(5)", "there": 'run("other", "{cell}").queue_pkts.at(5)'}
    plots = [{"axis": "queue [packets]", "measure": lines}]
    for labels, names in (({}, ("here", "there")), ({"": "queue:"}, ("queue: here", "queue: there"))):
        figure = Fields(tmp_path / "one.claims.yaml", {"over": "buffer", "plots": plots, "labels": labels})
        (plot,) = numbers_of(figure, Question(Runs(tmp_path), "one", {}))["plots"]
        assert {point["line"]: point["by_seed"] for point in plot["points"]} == dict(
            zip(names, ({1: 4}, {1: 9}), strict=True)
        )


def test_each_seed_is_asked_for_itself(runs: Runs) -> None:
    assert ask(runs, "queue_pkts.at(3)") == {1: 10, 2: 20}


def test_what_reads_another_experiment_alone_is_asked_for_the_seeds_of_that(runs: Runs) -> None:
    theirs = 'run("made-by-hand")'
    for words, expression, cell, seeds in (
        ({}, f"{theirs}.duration", None, [1, 2]),
        ({"there": theirs}, "there.duration", None, [1, 2]),
        ({"there": theirs}, "there.duration + cell('case=a').duration", None, [1]),
        ({}, f"{theirs}.duration", "case=a", [1]),
    ):
        assert [*Question(runs, "another", words).numbers(expression, cell)[0]] == seeds, expression


def test_predicates(runs: Runs) -> None:
    assert Question(runs, "made-by-hand", {}).truths("queue_pkts.max() > 10", None) == ({1: False, 2: True}, {})


def test_what_never_happens_is_never_true(runs: Runs) -> None:
    question = Question(runs, "made-by-hand", {"third": "drops().episodes()[2]"})
    assert question.truths("cwnd('tcp').max(0, third) > 0", None)[0] == {1: False, 2: False}
    assert question.numbers("third", None)[0] == {1: math.inf, 2: math.inf}


def test_what_cannot_be_measured_has_a_reason(runs: Runs) -> None:
    question = Question(runs, "made-by-hand", {})
    assert question.numbers("jain(0, 20)", None) == (
        {},
        dict.fromkeys((1, 2), "asked for 20 s, but the run ends at 10 s"),
    )
    values, unknown = question.numbers("run('another', 'case=a').jain(0, 5)", None)
    assert list(values) == [1]
    assert "no run of another, cell case=a, seed 2" in unknown[2]
    assert "division by zero" in question.numbers("1 / (duration - duration)", None)[1][1]


@pytest.mark.parametrize(
    "expression",
    [
        "late - late",
        "0 - late",
        "1 / late",
        "late * 0",
        "late % 2",
        "late ** 2",
        "cwnd('tcp').at(late)",
        "2 * cwnd('tcp').at(late)",
        "late < cwnd('tcp').first_time_above(200)",
        "cwnd('tcp').first_time_above(200) >= late",
    ],
)
def test_arithmetic_with_what_never_comes_gives_no_number(runs: Runs, expression: str) -> None:
    question = Question(runs, "made-by-hand", {"late": "cwnd('tcp').first_time_above(100)"})
    values, unknown = (question.truths if {"<", ">"} & {*expression} else question.numbers)(expression, None)
    assert not values
    assert all("never happened" in why for why in unknown.values())


def test_a_number_that_never_comes_is_the_last_one(runs: Runs) -> None:
    question = Question(runs, "made-by-hand", {"late": "cwnd('tcp').first_time_above(100)"})
    for expression in ("late == never", "late > duration", "max(late, 1) > 1e9", "not late < 5"):
        assert question.truths(expression, None)[0] == {1: True, 2: True}, expression


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "queue_pkts.__class__",
        "queue_pkts.values",
        "queue_pkts.times.tofile('/tmp/x')",
        "drops().times.clear()",
        "run('another', 'case=a').settings",
        "run('another', 'case=a').run",
        "cwnd.__func__",
        "().__class__.__base__.__subclasses__()",
        "(lambda: 1)()",
        "'a'.format(1)",
        "f'{queue_pkts.__class__}'",
        "9 ** 9 ** 9 ** 9",
        "'a' * 10 ** 9",
        "[1 for a in list(range(10 ** 9))]",
        "rand()",
        "str(1)",
        "nothing",
        "a := 1",
        "cwnd('nobody').max()",
        "cwnd()",
        "max()",
        "'text'",
        "True",
        "'%4000000000d' % 1",
        "f'{1:>3000000000}'",
        "len('%3000000000d' % 1)",
        "(2 ** 4000) * 1.0",
        "(2 ** 10) ** 10 * (2 ** 10) ** 10",
        "99999999999999999999",
        "duration ** duration",
        "{1: 2}[1]",
        "[a for a in [1] for a.b in [2]]",
        "1 if duration else 2",
        "-" * 60 + "1",
        "sum([1 for a in many for b in many for c in many])",
        "many + many + many + many + many + many + many + many + many + many + many",
        "[[many, many], [many, many]] == 1",
        "rate('tcp', 1e-9).mean()",
        "rate('tcp', -1).mean()",
        "queue_pkts.percentile(200)",
        "queue_pkts.percentile(-1)",
        "queue_pkts.cuts(2).count()",
        "queue_pkts > 3",
        "share(3)",
        "jain('tcp')",
        "rate_bps()",
        "mean_over_seeds('du' + 'ration')",
        "mean_over_seeds(expression='duration')",
        "run('x' + 'y').duration",
        "[duration for run in [1]]",
    ],
)
def test_nothing_else_can_be_reached(runs: Runs, expression: str) -> None:
    with pytest.raises(BadInputError):
        ask(runs, expression, many="[" + "1, " * 300 + "1]")


CLAIM = {"id": "e01", "title": "It is so.", "metric": "m", "paper": "1.5", "unit": "s", "source": "sec. 1"}


def claims(tmp_path: Path, *entries: dict[str, object], **fields: object) -> Path:
    file = {"experiment": "x", "artefact": "Fig. 1", "title": "t", "finding": "f", "figure": {"kind": "table"}}
    path = tmp_path / "x.claims.yaml"
    path.write_text(yaml.safe_dump({**file, **fields, "claims": list(entries)}, sort_keys=False))
    return path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "x.claims.yaml:8: claims[0]: nothing that checks it; allowed: one of measure, holds, kunit, not_testable"),
        ({"measure": "1 +"}, "claims[0].measure: found '1 +': something is missing at its end; allowed: an expression"),
        ({"holds": "jain() = 1"}, "it cannot be read from character 8, '= 1'; equality is written =="),
        ({"holds": "(jain() > 1"}, "'(' at character 1 has no partner"),
        ({"holds": "jain() << 1"}, "found '<<', which no expression may contain"),
        ({"holds": "queue_ms > 3"}, "claims[0].holds: found 'queue_ms > 3': a series stands where only a number can"),
        ({"holds": "jain()"}, "a number stands where only true or false can"),
        ({"measure": "queue_ms"}, "a series stands where only a number can"),
        ({"measure": "queue_ms.count()"}, "a series has no 'count'; at, mean, std"),
        ({"measure": "share()"}, "share(flow, t0, t1) lacks flow"),
        ({"measure": "share('a', 1, 2, 3)"}, "share(flow, t0, t1) takes no other arguments"),
        ({"measure": "share(3)"}, "share: flow: a number stands where only a text can"),
        ({"measure": "max(1, jain(), key=2)"}, "max takes no named arguments"),
        ({"measure": "1; 2"}, ":14: claims[0].measure"),
        (
            {"measure": "jian()"},
            "found 'jian()': unknown word 'jian' (did you mean jain?); allowed: an expression of docs/",
        ),
        ({"measure": "queue_ms.meen(1, 2)"}, "unknown word 'meen' (did you mean mean?)"),
        ({"holds": "all([cell(n).shar('a') for n in ['b']])"}, "claims[0].holds: found"),
        ({"measure": "mean_over_seeds('jian()')"}, "unknown word 'jian'"),
        ({"measure": "run(x).jain()"}, "run() takes the id of an experiment as a string"),
        (
            {"measure": "jain()", "paper": "six"},
            "claims[0].paper: found 'six'; allowed: a number to judge by, or `holds`",
        ),
        ({"measure": "jain()", "paper": 1.5}, "claims[0].paper: found 1.5; allowed: text"),
        ({"measure": 1}, "claims[0].measure: found 1; allowed: text"),
        ({"measure": "jain()", "approximat": True}, "unknown field; allowed: id, same_as,"),
        ({"measure": "jain()", "approximat": True}, "(did you mean approximate?)"),
        ({"holds": "jain() < 2", "not_testable": {"reason": "impossible here"}}, "found holds and not_testable"),
        ({"holds": "jain() < 2", "kunit": True}, "claims[0].kunit: found holds and kunit; allowed: one of them"),
        ({"not_testable": {"reason": "so"}}, "reason: found 'so'; allowed: value missing in the text, impossible here"),
        (
            {"measure": "jain()", "interval": ["2", "1"]},
            "claims[0].interval: found ['2', '1']; allowed: \"0.02\" for plus",
        ),
        ({"measure": "jain()", "same_as": "y/e01"}, "claims[0].title: stands beside same_as"),
        ({"measure": "jain()", "cause": "e07"}, "claims[0].cause: found 'e07'; allowed: a cause, or the id of nothing"),
        (
            {"measure": "jain()", "cause": {"text": "t", "evidence": "tested"}},
            "claims[0].cause.by: missing; allowed: the run that varied something, with",
        ),
    ],
)
def test_bad_claims_are_named(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    path = claims(tmp_path, {**CLAIM, **fields})
    with pytest.raises(BadInputError) as caught:
        registry.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


SHARE: dict[str, object] = {**CLAIM, "paper": "0.20", "unit": "1", "measure": "share('ledbat', 1, 5)"}
READING = {"title": "another flow", "why": "The text allows it."}


def test_other_readings_get_verdicts_beside_the_one_that_counts(tmp_path: Path, runs: Runs) -> None:
    path = claims(
        tmp_path,
        SHARE,
        {**SHARE, "id": "e02", "measure": "share('ledbat', 1, 5) / cell('single').share('tcp', 1, 5)"},
        {**SHARE, "id": "e03", "cell": "elsewhere"},
        experiment="made-by-hand",
        readings=[
            {**READING, "runs_of": "another", "cells": {"single": "case=a"}},
            {**READING, "title": "never run", "cells": {"single": "case=b"}},
        ],
    )
    experiment = registry.load(path)
    asked = readings.questions(experiment, runs)
    [judged] = readings.verdicts(experiment.claims[0], experiment, asked)
    assert (judged["title"], judged["cell"], judged["verdict"]) == ("another flow", "case=a", "holds")
    assert judged["measured"]["by_seed"] == {1: pytest.approx(0.2)}
    # what names a further cell would compare two readings, and no reading has the cell of the last one
    assert [readings.verdicts(claim, experiment, asked) for claim in experiment.claims[1:]] == [[], []]


def test_a_reading_of_no_claim_is_refused(tmp_path: Path) -> None:
    path = claims(tmp_path, {**CLAIM, "measure": "jain()"}, readings=[{**READING, "cells": {"case=a": "case=b"}}])
    with pytest.raises(
        BadInputError, match=r"readings\[0\]\.cells\.case=a: found 'case=a'; allowed: a part of the cell"
    ):
        registry.load(path)


def test_broken_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.claims.yaml"
    path.write_text("experiment: a\nclaims: [\n")
    with pytest.raises(BadInputError, match=r"x\.claims\.yaml:3: "):
        registry.load(path)


def test_what_is_printed_keeps_its_digits(tmp_path: Path) -> None:
    path = claims(
        tmp_path,
        {**CLAIM, "paper": "0.10", "measure": "jain()"},
        {**CLAIM, "id": "e02", "paper": "-", "measure": "jain()"},
    )
    first, dash = registry.load(path).claims
    assert (first.id, first.printed, first.value) == ("x/e01", "0.10", 0.1)
    assert dash.value == 0


def study(folder: Path, **fields: object) -> Path:
    folder.mkdir()
    written = {"paper": {"title": "T", "authors": [], "venue": "V"}, "findings": {"f": "F."}}
    (folder / "study.yaml").write_text(yaml.safe_dump(written))
    (folder / "x.yaml").write_text("experiment: x\n")
    claims(folder, {**CLAIM, "measure": "jain()"}, **fields)
    return folder


def test_measuring_names_the_line_of_an_experiment_that_its_scenario_is_not(tmp_path: Path) -> None:
    folder = study(tmp_path / "s", experiment="z")
    (tmp_path / "runs").mkdir()
    with pytest.raises(BadInputError, match=r"x.claims.yaml:1: experiment: found 'z'; allowed: 'x', as in"):
        measure(folder / "x.claims.yaml", tmp_path / "runs", tmp_path / "out")


def test_the_plan_says_whose_runs_an_experiment_looks_at(tmp_path: Path) -> None:
    folder = study(tmp_path / "s", words={"there": "mean_over_seeds('run(\"y\").jain()')"})
    other = claims(folder, {"id": "e01", "same_as": "x/e01"}, experiment="y", words={"here": "run('x').jain()"})
    (folder / "x.claims.yaml").rename(folder / "y.claims.yaml")
    (folder / "y.yaml").write_text("experiment: y\n")
    claims(folder, {**CLAIM, "measure": "jain()"}, words={"there": "mean_over_seeds('run(\"y\").jain()')"})
    x, y = plan([folder])
    assert other.name == "x.claims.yaml"
    assert (x["needs"], y["needs"]) == (["x", "y"], ["x", "y"])
    assert [Path(file).name for file in x["reads"]] == ["x.claims.yaml", "study.yaml"]
    assert [Path(file).name for file in y["reads"]] == ["y.claims.yaml", "x.claims.yaml", "study.yaml"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"experiment": "z"}, "x.claims.yaml:1: experiment: found 'z'; allowed: 'x', as in"),
        ({"finding": "g"}, "claims[0].finding: found 'g'; allowed: f"),
        ({"words": {"other": "run('xx').jain()"}}, 'run("xx"); allowed: x (did you mean x?)'),
        ({"runs_of": "x"}, "runs_of: found beside a scenario"),
        (
            {"readings": [{**READING, "runs_of": "z", "cells": {"single": "a"}}]},
            "readings[0].runs_of: found 'z'; allowed: x",
        ),
    ],
)
def test_what_only_shows_in_the_whole_study_is_named(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        plan([study(tmp_path / "s", **fields)])
    assert message in str(caught.value)


SCENARIO = """\
experiment: x
title: Two buffers
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: "${buffer}"}
delay: {forward: 25ms, backward: 5ms}
matrix: {buffer: [20p, 40p]}
flows: [{name: tcp, implementation: tcp-reno, from: s1, to: d1}]
duration: 20s
"""
OF_CELL = {"cell": "buffer=20p"}
PANELS: dict[str, object] = {"kind": "time-series", "panels": ["rate"]}


@pytest.mark.parametrize(
    ("entry", "figure", "message"),
    [
        ({"cell": "buffer=20"}, PANELS, "claims[0].cell: found 'buffer=20'; allowed: buffer=20p, buffer=40p (did you"),
        ({"finding": "g"} | OF_CELL, PANELS, "claims[0].finding: found 'g'; allowed: f"),
        (
            {"measure": "share('tpc')"} | OF_CELL,
            PANELS,
            "there is no flow 'tpc'; its flows are tcp (did you mean tcp?)",
        ),
        ({"measure": "share('tcp', 5, 21)"} | OF_CELL, PANELS, "share: t1: 21 s is after the end of the run, 20 s"),
        ({"measure": "share('tcp', 9, 5)"} | OF_CELL, PANELS, "share: t1: 5 s is not after t0, 9 s"),
        ({"measure": "call_mos('tcp')"} | OF_CELL, PANELS, "call_mos: found 'tcp', a flow of tcp-reno, without a rate"),
        ({"measure": "queue_ms.percentile(200)"} | OF_CELL, PANELS, "percentile: percent: found 200; allowed: 0 to 10"),
        ({"measure": "rate('tcp', 1e-9).mean()"} | OF_CELL, PANELS, "rate: step: found 1e-09; allowed: 0.001 s or"),
        ({"measure": "queue_ms.mean(25)"} | OF_CELL, PANELS, "mean: t0: 25 s is after the end of the run, 20 s"),
        ({"measure": "cell('a').jain()"}, PANELS, "there is no cell 'a'; the cells are buffer=20p, buffer=40p"),
        ({}, PANELS, "claims[0].measure: found 'jain()': 'jain' is of one cell; name it as the field `cell`, or by"),
        (
            {"measure": " + ".join(["cell('buffer=20p').jain()"] * 15 + ["jain()"])},
            PANELS,
            "...: 'jain' is of one cell",
        ),
        (
            OF_CELL,
            PANELS | {"panels": ["rate", "wait-ms"]},
            "figure.panels[1]: found 'wait-ms'; allowed: rate, sent-rate, window,",
        ),
        (OF_CELL, {"kind": "time-series"}, "figure.panels: missing; allowed: a list of rate, sent-rate, window"),
        (
            OF_CELL,
            PANELS | {"cells": [{"cell": "b", "title": "t"}]},
            "figure.cells[0].cell: found 'b'; allowed: buffer=",
        ),
    ],
)
def test_what_the_scenario_and_the_figures_do_not_have_is_refused_before_a_run(
    tmp_path: Path, entry: dict[str, str], figure: dict[str, object], message: str
) -> None:
    folder = study(tmp_path / "s")
    (folder / "x.yaml").write_text(SCENARIO)
    file = claims(folder, {**CLAIM, "measure": "jain()", **entry}, figure=figure)
    for check in (lambda: plan([folder]), lambda: measure(file, tmp_path, tmp_path / "out")):
        with pytest.raises(BadInputError) as caught:
            check()
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{file}:")


def test_an_expression_that_fails_in_a_run_is_named_with_its_line(tmp_path: Path, runs: Runs) -> None:
    path = claims(tmp_path, {**CLAIM, "measure": "rate('tcp', 1 / 10 ** 5).mean()"})
    [asked] = registry.load(path).expressions()
    with pytest.raises(BadExpressionError) as caught:
        Question(runs, "made-by-hand", {}).numbers(asked, None)
    said = str(registry.placed(caught.value, [registry.load(path)]))
    assert said == f"{path}:14: claims[0].measure: found {asked!r}: rate: step: found 1e-05; allowed: 0.001 s or more"


def test_what_an_expression_takes_is_bounded(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "len([rate('tcp', 0.001) for a in drops().times for b in drops().times for c in drops().times])"
    assert ask(runs, many)[1] > 8
    monkeypatch.setattr(expressions, "MOST_MEMORY_BYTES", 1 << 20)
    with pytest.raises(BadExpressionError, match="takes more than 0 GiB of memory"):
        ask(runs, many)
    monkeypatch.setattr(expressions, "MOST_CPU_S", 0.0)
    with pytest.raises(BadExpressionError, match="takes more than 0 s of processor time"):
        ask(runs, "len([t for t in drops().times])")
    monkeypatch.undo()
    monkeypatch.setattr(bottleneck, "MOST_BINS", 1000)
    with pytest.raises(BadExpressionError, match=r"step: found 0.001; allowed: 0.01 s or more, for at most 1,000 bins"):
        ask(runs, "rate('tcp', 0.001).max()")


CALLED = {Run: ("",), Series: ("queue_pkts.", "cwnd('tcp')."), Instants: ("drops().",)}
WRONG = ("5", "-1", "1e300", "late", "'tcp'", "'x'", "[1]", "['x']", "[]", "queue_pkts", "1 < 2")


@pytest.mark.parametrize(
    ("called", "places"),
    [
        (f"{before}{name}", len(inspect.signature(function).parameters) - 1)
        for kind, beginnings in CALLED.items()
        for name, function in words_of(kind).items()
        for before in beginnings
        if name not in properties(kind)
    ],
)
def test_no_argument_makes_a_word_fail(runs: Runs, called: str, places: int) -> None:
    question = Question(runs, "made-by-hand", {"late": "cwnd('tcp').first_time_above(100)"})
    for first in WRONG if places else ():
        for others in {(), *((other,) * (places - 1) for other in WRONG)}:
            expression = f"{called}({', '.join((first, *others))})"
            try:
                question.numbers(f"len({expression})", None)
            except BadInputError as error:
                assert not re.search("defect of the testbed|array|numpy|arange", str(error)), error


def test_lists_without_numbers_have_no_trend(runs: Runs) -> None:
    assert "has no value" in Question(runs, "made-by-hand", {}).numbers("trend([], []) + 0 * duration", None)[1][1]


def doubled(first: str, count: int, step: str) -> dict[str, str]:
    """Words, each an expression of the one above it."""
    return {"w0": first} | {f"w{above + 1}": step.replace("X", f"w{above}") for above in range(count - 1)}


def test_words_that_use_the_one_above_twice_take_no_longer_than_others(runs: Runs) -> None:
    words = doubled("run('another', 'case=a').share('ledbat', 1, 5)", 60, "X + X - X")
    question = Question(runs, "made-by-hand", words)
    assert question.numbers("w59", None)[0][1] == pytest.approx(0.2)
    assert list(question.reads("w59", None)) == [("made-by-hand", "single"), ("another", "case=a")]
    assert set(runs_named("w59", "made-by-hand", words)) == {("another", "case=a")}
    assert not is_about_means("w59", words)


def test_a_name_of_very_many_is_a_computed_one() -> None:
    few, many = ("cell(" + " + ".join(["n"] * number) + ").jain() for n in ['a', 'b', 'c']" for number in (3, 300))
    assert set(runs_named(f"[{few}]", "own", {})) == {("own", "".join(each)) for each in product("abc", repeat=3)}
    assert set(runs_named(f"[{many}]", "own", {})) == {("own", None)}


def test_words_on_too_many_levels_are_refused(tmp_path: Path, runs: Runs) -> None:
    with pytest.raises(
        BadInputError, match=r"words\.w\d+: found .*: uses words that use words, and so on, on too many"
    ):
        registry.load(claims(tmp_path, words=doubled("jain()", 199, "+(" * 20 + "X" + ")" * 20)))
    with pytest.raises(BadExpressionError, match="uses words that use words, and so on, on too many levels"):
        ask(runs, "w999", **doubled("jain()", 1000, "X"))


def test_a_number_that_grows_without_bounds_is_said_without_python(runs: Runs) -> None:
    with pytest.raises(BadInputError, match="makes a number larger than any that a computer holds"):
        ask(runs, "((((1.5 * 10 ** 9) ** 10) ** 10) ** 10)")


def test_a_scenario_without_claims_and_a_finding_without_are_named(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    (folder / "y.yaml").write_text("experiment: y\n")
    with pytest.raises(BadInputError, match=r"y\.yaml: no claims"):
        plan([folder])
    (folder / "y.yaml").unlink()
    (folder / "study.yaml").write_text((folder / "study.yaml").read_text().replace("f: F.", "f: F.\n  g: G."))
    with pytest.raises(BadInputError, match=r"findings\.g: no claim stands for it"):
        plan([folder])


def test_a_quotation_of_a_finding_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    quote = {"text": "We found it.", "source": "abstract", "findings": ["f", "g"]}
    with (folder / "study.yaml").open("a") as file:
        yaml.safe_dump({"quotes": [quote]}, file)
    with pytest.raises(BadInputError, match=r"study\.yaml:\d+: quotes\[0\]\.findings\[1\]: found 'g'; allowed: f"):
        registry.load_study(folder)


def test_what_counts_apart_and_is_not_there_is_named(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    with (folder / "study.yaml").open("a") as file:
        yaml.safe_dump({"apart": {"echo": ["g"]}}, file)
    with pytest.raises(BadInputError, match=r"study\.yaml:\d+: apart\.echo\[0\]: found 'g'; allowed: f"):
        registry.load_study(folder)


@functools.cache
def whole() -> list[registry.Experiment]:
    return [registry.load(file) for file in sorted((ROOT / "workflows/studies").glob("*/*.claims.yaml"))]


def test_the_registry_is_whole() -> None:
    ids = [claim.id for experiment in whole() for claim in experiment.claims]
    assert len(ids) == len(set(ids))
    planned = plan(sorted(file.parent for file in (ROOT / "workflows/studies").glob("*/study.yaml")))
    assert sorted(entry["experiment"] for entry in planned) == sorted(experiment.id for experiment in whole())


def test_a_word_may_use_only_those_above_it(tmp_path: Path) -> None:
    path = claims(tmp_path, {**CLAIM, "measure": "twice"}, words={"twice": "2 * once", "once": "duration"})
    with pytest.raises(BadInputError, match=r"words\.twice: found '2 \* once'.*unknown word 'once'"):
        registry.load(path)


NAMED = {"10 flows": "flows=10", "100 flows": "flows=100"}


def test_a_number_of_many_cells_is_written_once(tmp_path: Path) -> None:
    index = {"metric": "index", "unit": "1", "measure": "jain()", "cells": "each"}
    values = [
        {"measure": "queue_ms.mean()", "cells": ["100 flows"]},
        {"label": "full", "measure": "utilization()", "cells": "each"},
    ]
    figure = {"kind": "values-by-seed", "axis": "x", "values": values}
    experiment = registry.load(claims(tmp_path, cells=NAMED, figure=figure, also_measured=[index]))
    extras = [(extra.metric, extra.measure, extra.cell) for extra in experiment.also_measured]
    assert extras == [("index, 10 flows", "jain()", "flows=10"), ("index, 100 flows", "jain()", "flows=100")]
    drawn = [(value["label"], value["cell"]) for value in experiment.figure["values"]]
    assert drawn == [("100 flows", "flows=100"), ("full: 10 flows", "flows=10"), ("full: 100 flows", "flows=100")]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"cells": "every"},
            "also_measured[0].cells: found 'every'; allowed: each, or names of `cells`: 10 flows, 100 f",
        ),
        ({"cells": ["10 flow"]}, "cells: found '10 flow'; allowed: each, or names of `cells`"),
        ({"cells": []}, "also_measured[0].cells: none has a name; allowed: each, or names of `cells`"),
        ({"cells": "each", "cell": "flows=10"}, "also_measured[0].cells: stands beside cell; allowed: one of them"),
    ],
)
def test_cells_that_have_no_name_are_named(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    entry = {"metric": "index", "unit": "1", "measure": "jain()", **fields}
    with pytest.raises(BadInputError) as caught:
        registry.load(claims(tmp_path, cells=NAMED, also_measured=[entry]))
    assert message in str(caught.value)


@pytest.mark.parametrize("cells", [5, [["10 flows"]], {"10 flows": 1}])
def test_cells_of_a_figure_are_names(tmp_path: Path, cells: object) -> None:
    figure = {"kind": "values-by-seed", "axis": "x", "values": [{"measure": "jain()", "cells": cells}]}
    with pytest.raises(
        BadInputError, match=r"figure\.values\[0\]\.cells: found .*; allowed: each, or names of `cells`"
    ):
        registry.load(claims(tmp_path, cells=NAMED, figure=figure))


ASSERTED = [(experiment.id, asserted) for experiment in whole() for asserted in experiment.asserts]


@pytest.mark.parametrize(("experiment", "asserted"), ASSERTED, ids=[f"{name}: {said.text}" for name, said in ASSERTED])
def test_the_scenarios_have_the_settings_that_claims_assert(
    experiment: str, asserted: registry.Assertion, tmp_path: Path
) -> None:
    """Without a run, the resolved scenario answers."""
    entries = {experiment.id: experiment for experiment in whole()}
    entry = entries[experiment]
    scenario = entries[entry.runs_of].scenario
    assert scenario
    for cell in expand(scenario, "complete"):
        folder = tmp_path / cell.study / cell.experiment / cell.name / "seed-1"
        folder.mkdir(parents=True)
        run = {**resolve(cell, 1), "origin_ns": 0}
        (folder / "run.json").write_text(json.dumps(run))
        (folder / "summary.json").write_text("{}")
        vouch(folder)
    ask = Question(Runs(tmp_path), entry.runs_of, entry.words)
    assert ask.truths(asserted.holds, asserted.cell) == ({1: True}, {})


def test_numbers_count_from_the_later_start_whichever_flow_is_first(tmp_path: Path) -> None:
    """Where LEDBAT starts first, its own start is that of the run, and TCP's slow start would count."""
    [experiment] = [one for one in whole() if one.id == "icccn-table1-tcp-vs-ledbat"]
    [first] = [reading for reading in experiment.readings if reading.title == "LEDBAT starts first"]
    assert experiment.scenario
    cells = {cell.name: cell for cell in expand(experiment.scenario, "complete")}
    counted = {}
    for claim in experiment.claims:
        interval = re.search(r"(?:jain|loss_rate|utilization)\((.*?)\)(?:$| \*)", claim.measure or "")
        if not interval or first.cell(claim.cell) not in cells:
            continue
        cell = cells[first.cell(claim.cell) or ""]
        folder = tmp_path / cell.study / cell.experiment / cell.name / "seed-1"
        folder.mkdir(parents=True, exist_ok=True)
        run = {**resolve(cell, 1), "origin_ns": 0}
        (folder / "run.json").write_text(json.dumps(run))
        (folder / "summary.json").write_text("{}")
        vouch(folder)
        begun = {flow["name"]: flow["start_ns"] / 1e9 for flow in run["flows"]}
        assert begun["ledbat"] < begun["tcp"]
        values, _ = Question(Runs(tmp_path), experiment.id, experiment.words).numbers(interval[1], cell.name)
        counted[claim.id] = (values[1], pytest.approx(begun["tcp"]))
    assert len(counted) == 40
    assert all(begins == later for begins, later in counted.values()), counted


def test_a_complete_run_tests_each_claim_for_which_no_reason_stands() -> None:
    """A claim that asks for a cell or an instant which no run has would be untestable without anybody noticing."""
    missed = []
    for experiment in whole():
        kept = recorded().get(experiment.id, {"claims": {}})["claims"]
        tested = [claim for claim in experiment.claims if not claim.not_testable and not claim.same_as]
        missed += [
            experiment.id for experiment in tested if kept.get(experiment.id, {}).get("verdict") == "cannot be tested"
        ]
    assert missed == []


def test_kunit_cases_of_claims_exist() -> None:
    cases = set(
        re.findall(r'CASE\("([^"]+)"', (ROOT / "images/tcp_ledbat_research/tcp_ledbat_research_test.c").read_text())
    )
    decided = [claim.id for experiment in whole() for claim in experiment.claims if claim.kunit]
    assert decided
    assert cases.issuperset(decided)


def test_means_over_seeds_are_the_same_for_every_seed(runs: Runs) -> None:
    # queues of 10 and 20 packets from 2 s on
    assert ask(runs, 'mean_over_seeds("queue_pkts.at(5)")') == {1: 15, 2: 15}
    assert ask(runs, 'mean_over_seeds("queue_pkts.first_time_above(20)")') == {1: math.inf, 2: math.inf}
    two, once = (Question(runs, "made-by-hand", {}).mean_over_seeds(text, None) for text in ("queue_pkts.at(5)", "1"))
    assert (two, once) == (15, 1)


def test_no_quotation_is_longer_than_a_sentence() -> None:
    for folder in registry.folders_of_studies(ROOT / "workflows/studies"):
        study = registry.load_study(folder)
        assert max((len(quote["text"].split()) for quote in study.quotes), default=0) <= MOST_QUOTED, folder
    for file in sorted((ROOT / "workflows/studies").glob("*/*.claims.yaml")):
        experiment = registry.load(file)
        quoted = [reading["quote"] for reading in experiment.data.get("readings", []) if "quote" in reading]
        quoted += [claim.data["scan"] for claim in experiment.claims if "scan" in claim.data]
        assert max((len(text.split()) for text in quoted), default=0) <= MOST_QUOTED, file


def test_results_state_no_number_that_only_undecided_claims_have() -> None:
    for file in sorted((ROOT / "workflows/studies").glob("*/*.claims.yaml")):
        experiment = registry.load(file)
        kept = recorded()[experiment.id]["claims"] if "result" in experiment.data else {}
        if "result_of" in experiment.data:  # the report leaves the sentence out while they are undecided
            continue
        for number in prose.numbers(experiment.data.get("result", "")):
            verdicts = {
                kept[claim.id]["verdict"]
                for claim in experiment.claims
                if claim.id in kept and shows(claim, kept, number[0])
            }
            assert verdicts - {"open", "cannot be tested"} or not verdicts, f"{file}: result: {number[0]}"


def test_a_result_names_decided_claims_where_the_experiment_has_any() -> None:
    """So that the page can show this run's numbers below it."""
    for experiment in whole():
        kept = recorded()[experiment.id]["claims"]
        decided = {"holds", "nearly", "does not hold"}
        has_decided = any(kept[claim.id]["verdict"] in decided for claim in experiment.claims if claim.id in kept)
        assert "result_of" in experiment.data or not has_decided, experiment.id


def test_every_experiment_has_a_result_and_its_numbers_were_recorded() -> None:
    experiments = [experiment for experiment in whole() if experiment.id != "explained-ten-minutes"]  # claims nothing
    for experiment in experiments:
        assert experiment.data.get("result"), experiment.file
        if not any(claim.holds or claim.value is not None for claim in experiment.claims):
            values = set(prose.leaves(recorded()[experiment.id]))
            for number in prose.numbers(experiment.data["result"]):
                assert prose.is_behind(number[0], values), f"{experiment.file}: result: {number[0]}"


@functools.cache
def recorded() -> dict[str, Any]:
    """What the reference set has of each experiment."""
    return read(ROOT / "workflows/reference")[1]


def shows(claim: registry.Claim, kept: dict[str, Any], number: str) -> bool:
    values = [float(value) for value in (kept[claim.id]["by_seed"] or {}).values() if value != "never"]
    return prose.is_behind(number, [fmean(values)] if values else [])


def test_advice_is_what_the_documentation_says() -> None:
    page = " ".join((ROOT / "docs/results/today.md").read_text().split())
    files = registry.claims_files(ROOT / "workflows/studies/today")
    advice = [text for file in files if (text := registry.load(file).data.get("advice"))]
    assert len(advice) == page.count("**What to do.**") == 22
    for text in advice:
        assert f"**What to do.** {text}" in page


def test_each_part_of_an_expression_is_looked_at_once() -> None:
    """Twice each, forty terms or sixty words of which each has the one before twice would take for ever."""
    assert kinds.problem(" + ".join(["1"] * 40), kinds.Scope()) is None
    defined = {"word0": "1"} | {f"word{number}": f"word{number - 1} + word{number - 1}" for number in range(1, 60)}
    assert kinds.problem("word59 < 1", kinds.Scope(defined)) is None
    assert kinds.problem("not word59", kinds.Scope(defined)) == "a number stands where only true or false can"
