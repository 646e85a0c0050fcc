"""`testbed hunt`: arenas, properties, search and shrinking on numbers of a formula, and one real hunt."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.series import NotMeasuredError
from scenarios import implementations
from scenarios.errors import ScenarioError
from scenarios.resolve import expand
from scenarios.units import QUANTITIES, parse
from testbed.cli import main
from testbed.gate import budgets
from testbed.hunt import arena, command, corpus, evidence, measure, read_properties, search, shrink, survival
from testbed.hunt.hunt import Hunt, parts
from testbed.hunt.measure import Measured, MeasuredRuns, OverBudgetError
from testbed.hunt.question import CLEARLY, HuntQuestion
from testbed.hunt.read_properties import Property
from testbed.hunt.scenario import Data, name, text
from testbed.hunt.survival import Survival
from testbed.shared import packets
from testbed.shared.vocabulary import number_of
from tests.analysis.browser import unsound_by_itself
from tests.analysis.synthetic import plain, write

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "hunt.md").read_text()
SMALL = """\
experiment: small
title: A short race
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 1mbit..2mbit, buffer: 50p..60p, queue: fifo | bfifo}
delay: {forward: 5ms, backward: 5ms}
flows:
  - {name: client, implementation: "${client}", from: s1, to: d1}
  - {maybe: true, name: beside, implementation: tcp-cubic | tcp-reno, from: s2, to: d2, start: 0s..1s}
events:
  - {maybe: true, at: 0s..1s, on: path, loss: {forward: 0.1%..2%}}
duration: 2s
"""
FIXED = """\
experiment: fixed
title: One link
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 1mbit, buffer: 50p}
delay: {forward: 5ms, backward: 5ms}
flows:
  - {name: client, implementation: "${client}", from: s1, to: d1}
  - {name: beside, implementation: tcp-cubic, from: s2, to: d2}
"""
TWO_POINTS = {
    "bottleneck": {"rate": "1mbit", "buffer": "50p", "queue": "fifo | bfifo"},
    "flows": [{"name": "client", "implementation": "${client}", "from": "s1", "to": "d1"}],
    "events": [],
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file


def test_the_page_lists_the_properties() -> None:
    lines = ["| property | what should hold | of |", "|---|---|---|"]
    everything = [read_properties.load(file) for file in sorted(read_properties.FOLDER.glob("*.yaml"))]
    for prop in (prop for prop in everything if not prop.of_version):
        asked = [*(prop.families or []), *(prop.transports or [])] or [
            "all",
            *(f"but {family}" for family in prop.not_families),
        ]
        of = " ".join([*asked, *([f"({prop.flows})"] if prop.flows else [])])
        lines.append(f"| `{prop.name}` | {prop.says} | {of} |")
    assert "<!-- properties -->\n" + "\n".join(lines) + "\n<!-- end of properties -->" in PAGE
    assert {prop.name for prop in everything if prop.of_version} == set(re.findall("`(version-[a-z-]+)`", PAGE))


@pytest.mark.parametrize("file", sorted(arena.FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_each_point_of_an_arena_is_a_scenario(file: Path, tmp_path: Path) -> None:
    client = "tcp-ledbat" if file.stem == "pauses" else "libutp"
    place = arena.read(file, client)
    points = [point for how in ("random", "tour") for point in search.batch(place, 0, 1, how)]
    for number, point in enumerate(points):
        written = tmp_path / f"{number}.yaml"
        written.write_text(text(place.scenario(point, client)))
        assert len(expand(written, "complete")) == 1


def test_the_events_of_a_tour_follow_one_another() -> None:
    """Each ends before the next begins, those that last as it was before; the second half is quiet."""
    place = arena.read(arena.DEFAULT, "libutp")
    toured = place.scenario({**{knob.name: 0 for knob in place.knobs}, arena.TOUR: 7}, "libutp")
    plain = place.scenario({knob.name: 0 for knob in place.knobs}, "libutp")
    instants = [parse(event["at"], "time") for event in toured["events"]]
    assert instants == sorted(instants)
    assert len(set(instants)) == len(instants)
    assert parse(toured["duration"], "time") >= 2 * instants[-1]
    path: dict[str, Any] = {"delay forward": "1ms", "rate": "500kbit"}
    for event in toured["events"]:
        for what, value in event.items():
            if what not in ("at", "on"):
                path |= {f"{what} {way}": each for way, each in value.items()} if what != "rate" else {what: value}
    assert path.pop("suspension forward") == "100ms"
    assert path.pop("burst forward", "4p") == "4p"
    ends = {"loss": "0%", "duplicate": "0%", "jitter": "0s", "mtu": "1500B", "black_hole": "1500B"}
    assert path == {
        "delay forward": "1ms",
        "rate": "500kbit",
        "loss backward": "0%",
        **{f"{what} forward": value for what, value in ends.items()},
    }
    assert parts(toured) == parts(plain)


def test_every_third_tour_is_in_a_corner_of_the_links() -> None:
    """Two of capacity, buffer and delay have all pairs of ends in four such tours, all three in eight."""
    place = arena.read(arena.DEFAULT, "libutp")
    tried: list[arena.Point] = []
    while len(tried) < 32:
        tried += search.batch(place, len(tried), 1, "tour")
    links = [place.scenario(point, "libutp") for point in tried[2::4]]
    ends = {"rate": {"500kbit": 0, "20mbit": 1}, "buffer": {"5p": 0, "500p": 1}}
    corners = [
        (*(ends[what][link["bottleneck"][what]] for what in ends), {"1ms": 0, "300ms": 1}[link["delay"]["forward"]])
        for link in links
    ]
    assert all(link["delay"]["forward"] == link["delay"]["backward"] for link in links)
    assert len(set(corners)) == 8
    for pair in ((0, 1), (0, 2), (1, 2)):
        assert len({(corner[pair[0]], corner[pair[1]]) for corner in corners[:4]}) == 4


def test_an_event_of_a_tour_ends_where_it_began(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text("""
experiment: both
title: Both links change
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 5mbit, buffer: 50p}
backward_bottleneck: {rate: 1mbit, buffer: 20p}
delay: {forward: 10ms, backward: 10ms}
flows: [{name: client, implementation: "${client}", from: s1, to: d1}]
events:
  - {at: 1s, on: backward_bottleneck, rate: 250kbit}
  - {at: 1s, on: path, pairs: [1], jitter: {forward: 5ms}}
duration: 20s
""")
    toured = arena.read(tmp_path / "both.yaml", "libutp").scenario({arena.TOUR: 1}, "libutp")
    places = [{name: value for name, value in event.items() if name != "at"} for event in toured["events"]]
    assert {"on": "backward_bottleneck", "rate": "1mbit"} in places
    assert {"on": "path", "pairs": [1], "jitter": {"forward": "0s"}} in places


def test_a_client_without_timestamps_has_no_clocks() -> None:
    place = arena.read(arena.DEFAULT, "quinn")
    assert not [knob.name for knob in place.knobs if knob.path[0] == "clocks"]
    assert [knob.name for knob in arena.read(arena.DEFAULT, "libutp").knobs if knob.path[0] == "clocks"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rate: 1mbit..2mbit",
            "rate: 2mbit..1mbit",
            ":4: bottleneck.rate: found '2mbit..1mbit'; allowed: a range whose",
        ),
        ("rate: 1mbit..2mbit", "rate: 1mbit..2ms", ":4: bottleneck.rate: found '1mbit..2ms'; allowed: two ends"),
        ("buffer: 50p..60p", "buffer: 50p..60p, bufer: 1p", ":4: bottleneck.bufer: unknown field"),
        ("queue: fifo | bfifo", "queue: fifo | fivo", ":4: bottleneck.queue: found 'fivo'; allowed: fifo"),
        ("queue: fifo | bfifo", "queue: 1..2", ":4: bottleneck.queue: found '1..2'; allowed: a range where a quantity"),
        (
            "tcp-cubic | tcp-reno",
            "tcp-cubic | tcp-ren",
            ":8: flows[1].implementation: unknown implementation 'tcp-ren'",
        ),
        ("at: 0s..1s", "at: 0s..3s", ":10: events[0].at: found '3s', not before the end"),
        ("maybe: true, at", "maybe: 3, at", ":10: events[0].maybe: found 3; allowed: true, or no such field"),
        ("duration: 2s", "duration: 2s\nseeds: {complete: 2}", ":12: seeds: has no place in an arena"),
        ("name: client", "name: me", ":6: flows: no flow 'client'; allowed: one"),
    ],
)
def test_what_is_wrong_with_an_arena(old: str, new: str, message: str, small: Path) -> None:
    small.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        arena.read(small, "tcp-cubic")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"holds": "queue_msec.mean() < 3"}, "holds: unknown word 'queue_msec'"),
        ({"holds": "queue_ms.mean()"}, "holds: found 'queue_ms.mean()', which compares nothing"),
        ({"other": {"scale": {"rate": 2}}}, "holds: found the bound '3', which is not made of 'other'"),
        ({"other": {}}, "other: "),
        ({"flows": "alike"}, "flows: found 'alike'; allowed: alone, beside"),
        ({"instant": "queue"}, "instant: unknown word 'queue'"),
    ],
)
def test_what_is_wrong_with_a_property(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    good = {"says": "It is short.", "otherwise": "is long", "holds": "queue_ms.mean() < 3", "because": "So."}
    file.write_text(yaml.safe_dump(good))
    assert read_properties.load(file).measured == "queue_ms.mean()"
    file.write_text(yaml.safe_dump(good | change))
    with pytest.raises(BadInputError) as error:
        read_properties.load(file)
    assert "short.yaml:" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tcp-cubicc"], "unknown implementation 'tcp-cubicc'; allowed: "),
        (["tcp-bbr", "--only", "deaths"], "--only: found 'deaths'; allowed: "),
        (["tcp-bbr", "--budget", "2"], "--budget: found '2'; allowed: a time above 0 such as 2h"),
        (["tcp-bbr", "--budget", "0h"], "--budget: found '0h'; allowed: a time above 0 such as 2h"),
        (["tcp-bbr", "--budget=-1h"], "--budget: found '-1h'; allowed: a time above 0 such as 2h"),
        (["tcp-bbr", "--budget", "infh"], "--budget: found 'infh'; allowed: a time above 0 such as 2h"),
        (["tcp-bbr", "--budget", "1runs"], "--budget: found '1runs'; allowed: at least 2runs"),
        (["tcp-bbr", "--property", "queue_ms"], "--property: found 'queue_ms', which compares nothing; allowed: "),
        (["tcp-bbr", "--property", "duration > 1", "--only", "death"], "--only: found beside --property"),
        (["tcp-bbr", "--baseline", "tcp-bbr"], "--baseline: found 'tcp-bbr', the implementation under test"),
        ([], "found no name; allowed: one, or one --implementation FOLDER"),
    ],
)
def test_what_is_wrong_with_an_order(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hunt", *words, "--into", str(tmp_path / "results")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("holds", "measured", "bound", "badness"),
    [
        ("duration < 3", 1.5, 3.0, 0.5),
        ("duration < 3", 3.0, 3.0, math.nextafter(1, 2)),
        ("duration < 3", 4.5, 3.0, 1.5),
        ("duration < 3", math.inf, 3.0, 2.0),
        ("duration >= 3", math.inf, 3.0, 0.0),
        ("duration >= 3", 1.0, 3.0, 2.0),
        ("duration > 0", 0.0, 0.0, 2.0),
        ("duration > 0", 9.0, 0.0, 0.5),
        ("duration > 0", None, 0.0, None),
        ("duration > 0", math.nan, 0.0, None),
        ("duration <= 3", math.inf, math.inf, None),  # neither of two instants came
        ("duration >= never", math.inf, math.inf, 0.0),
    ],
)
def test_how_near_a_run_is(holds: str, measured: float | None, bound: float, badness: float | None) -> None:
    found = read_properties.of_expression(holds).badness(measured, bound)
    assert found == (badness if badness is None else pytest.approx(badness))


def test_each_property_is_a_number(tmp_path: Path) -> None:
    """A property that no run can answer would never be broken."""
    made = plain()
    made.flows, made.cell = ("client", "beside"), "client=tcp-ledbat"
    folder = write(tmp_path, made)
    write_columns(folder)
    run = Run(folder)
    for file in read_properties.FOLDER.glob("*.yaml"):
        prop = read_properties.load(file)
        for expression in prop.expressions:
            try:
                number_of(expression, run)
            except NotMeasuredError:
                pass  # a run of some seconds
            except BadInputError as error:
                pytest.fail(f"{prop.name}: {error}")


@pytest.mark.parametrize("same", [0.0, 100.0, 1e6])
def test_a_baseline_that_nothing_changes_keeps_what_compares_two_runs(same: float) -> None:
    """Else no scenario would ever count."""
    for file in read_properties.FOLDER.glob("*.yaml"):
        prop = read_properties.load(file)
        if prop.comparison and prop.of_path and (same or prop.name == "buffer"):
            badness = prop.badness(same, prop.bound_of({}, same))
            assert badness is not None and badness <= CLEARLY, prop.name


def test_what_a_run_is_compared_with() -> None:
    own: Data = {
        "bottleneck": {"rate": "1.5mbit", "buffer": "9p"},
        "events": [{"at": "1s", "on": "bottleneck", "rate": "500kbit"}, {"at": "1s", "on": "path", "mtu": {}}],
        "flows": [{"name": "client"}],
    }
    clients = implementations.known()
    known = {prop.name: prop for prop in read_properties.load_all(clients["tcp-ledbat"])}
    faster = known["capacity"].other(own, "tcp-cubic")
    assert faster == own | {
        "bottleneck": {"rate": "3mbit", "buffer": "9p"},
        "events": [own["events"][0] | {"rate": "1mbit"}, own["events"][1]],
    }
    two = own | {"flows": [{"name": "client"}, {"name": "beside", "implementation": "tcp-cubic"}]}
    assert known["harm"].other(two, "tcp-reno") == two | {"matrix": {"client": ["tcp-cubic"]}}
    clocks = [{"host": "d1", "offset": "1800s", "skew": "200ppm"}]
    assert known["clock"].other(own, "tcp-cubic") == own | {"clocks": clocks}
    assert known["death"].other(own, "tcp-cubic") is None
    assert not known["harm"].covers(own)
    versions = {
        prop.name for prop in read_properties.load_all(clients["tcp-ledbat"], against_version=True)
    } - known.keys()
    assert versions == {file.stem for file in read_properties.FOLDER.glob("version-*.yaml")}
    assert "standing-queue" not in {prop.name for prop in read_properties.load_all(clients["tcp-cubic"])}
    assert "clock" not in {prop.name for prop in read_properties.load_all(clients["quinn"])}


@pytest.mark.parametrize(
    ("number", "unit", "shown"),
    [
        (1_500_000, "rate", "1.5mbit"),
        (1000, "share", "0.1%"),
        (0, "time", "0s"),
        (2_500_000, "time", "2.5ms"),
        (40, "packets", "40p"),
    ],
)
def test_numbers_as_people_write_them(number: int, unit: str, shown: str) -> None:
    assert arena.written(number, QUANTITIES[unit]) == shown
    assert parse(shown, unit) == number


class Formula(MeasuredRuns):
    """Runs whose numbers a formula gives."""

    def __init__(self, folder: Path, asked: Sequence[Property], formula: Callable[[Data, str], float]) -> None:
        super().__init__(folder, tuple(text for prop in asked for text in prop.expressions), "")
        self._formula = formula

    def request(self, wanted: Sequence[tuple[Data, int]]) -> None:
        for scenario, seed in wanted:
            key = name(scenario), seed
            self.requested.add(key)
            numbers: dict[str, float | None] = {text: self._formula(scenario, text) for text in self.expressions}
            self._known.setdefault(key, Measured(numbers))


def dies_of_losses_beside_another(scenario: Data, expression: str) -> float:
    """A client that dies where 1 % is lost and another flow is there; the baseline does not."""
    if expression == "duration":
        return 2.0
    losses = [parse(event["loss"]["forward"], "share") for event in scenario.get("events", ()) if "loss" in event]
    dies = scenario["matrix"]["client"] == ["libutp"] and sum(losses) >= 10_000 and len(scenario["flows"]) > 1
    return 1.0 if dies else math.inf


def hunted(
    small: Path,
    seed: int,
    formula: Callable[[Data, str], float] = dies_of_losses_beside_another,
    how: str = "random",
    first: Sequence[Data] = (),
) -> Hunt:
    asked = [prop for prop in read_properties.load_all(implementations.known()["libutp"]) if prop.name == "death"]
    runs = Formula(small.parent, asked, formula)
    place = arena.read(small, "libutp")
    hunt = Hunt(place, asked, "libutp", "tcp-cubic", runs, seed, how, lambda: 48 - len(hunt.trials), first)
    list(hunt.new_findings())
    return hunt


@pytest.mark.parametrize("how", search.SEARCHES)
def test_a_hunt_finds_shrinks_and_repeats(how: str, small: Path) -> None:
    hunt = hunted(small, 2, how=how)
    [finding] = hunt.findings
    assert parts(finding.scenario) == {"loss forward", "flow beside"}
    shown = text(finding.scenario)
    assert "events: [{at: 0s, on: path, loss: {forward: " in shown
    assert "from: s2, to: d2, may_fail: true}" in shown  # no start
    assert "queue:" not in shown
    assert len(shown.splitlines()) <= 11
    assert finding.survival
    assert (finding.survival.seeds, finding.survival.of_seeds) == (20, 20)
    assert finding.survival.of_changed >= 12  # two for each number
    again = hunted(small, 2, how=how)
    assert [trial.point for trial in again.trials] == [trial.point for trial in hunt.trials]
    assert again.findings == hunt.findings
    assert [trial.point for trial in hunted(small, 3).trials] != [trial.point for trial in hunt.trials]


def test_a_hunt_begins_with_its_corpus(small: Path) -> None:
    """The second case is broken; what the search chooses later is the same as without a corpus."""
    cases = "duration: 2s\ncases: {alone: {}, lossy: {events: [{at: 0s, on: path, loss: {forward: 1%}}]}}\n"
    file = small.with_name("corpus.yaml")
    file.write_text(FIXED + cases)
    first = [place.scenario({}, "libutp") for place in corpus.read(file, "libutp")]
    assert [parts(scenario) for scenario in first] == [{"flow beside"}, {"flow beside", "loss forward"}]
    hunt = hunted(small, 2, how="tour", first=first)
    [finding] = hunt.findings
    assert finding.first == first[1]
    assert finding.runs == 2
    without = hunted(small, 2, how="tour")
    assert [trial.point for trial in hunt.trials[2:]] == [trial.point for trial in without.trials[:-2]]


def test_the_corpus_of_findings_has_what_clients_broke_in() -> None:
    places = corpus.read(arena.FOLDER.with_name("corpora") / "findings.yaml", "quic-go")
    assert len(places) == len({name(place.scenario({}, "quic-go")) for place in places}) > 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("50p", "50p..60p", ":4: bottleneck.buffer: has several values; allowed: one value"),
        ("duration: 2s", "duration: 2s\nmatrix: {rate: [1mbit]}", "matrix.rate: "),
        ("duration: 2s", "duration: 2s\ncases: {a: {bottleneck: {rate: 1}}}", "bottleneck.rate: found 1, a number"),
        (
            "duration: 2s",
            "duration: 2s\ncases: {a: {seeds: {complete: 2}}}",
            "seeds: has no place in a corpus; allowed: one value",
        ),
    ],
)
def test_what_is_wrong_with_a_corpus(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "corpus.yaml"
    file.write_text((FIXED + "duration: 2s\n").replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        corpus.read(file, "tcp-cubic")
    assert message in str(error.value)


@pytest.mark.parametrize(("other", "is_broken"), [(1.0, True), (3.0, False)])
def test_what_an_earlier_version_does_with_any_seed_is_no_fault(other: float, is_broken: bool, small: Path) -> None:
    """The client carries 5 with each seed, the earlier version 1, but with seed 4 `other`."""
    asked = [read_properties.load(read_properties.FOLDER / "version-bolder.yaml")]
    runs = Formula(small.parent, asked, lambda _scenario, _text: 5.0)
    place = arena.read(small, "libutp")
    [point, *_] = (point for point in search.batch(place, 0, 1, "random"))
    scenario = place.scenario(point, "libutp")
    question = HuntQuestion(asked[0], "libutp", "utp-rs", runs)
    for before, seed in question.needed(scenario, (1, 2, 3, 4)):
        runs.request([(before, seed)])
        if before["matrix"]["client"] == ["utp-rs"]:
            carried = 2 * other if seed == 4 else 1.0
            runs._known[name(before), seed] = Measured(dict.fromkeys(runs.expressions, carried))
    assert question.breaking([scenario]) == [is_broken]


def test_beside_an_earlier_version_other_comparisons_are_rare(small: Path) -> None:
    asked = read_properties.load_all(implementations.known()["libutp"], against_version=True)
    place = arena.read(small, "libutp")
    hunt = Hunt(place, asked, "libutp", "utp-rs", Formula(small.parent, asked, lambda *_: 1.0), 1, "tour", lambda: 0)
    alone = place.scenario({knob.name: len(knob.values) - 1 for knob in place.knobs}, "libutp")
    compared = [{prop.name for prop in hunt._due(number, alone) if prop.comparison} for number in range(17)]
    versions = {prop.name for prop in asked if prop.of_version and prop.flows != "beside"}
    assert all(names >= versions for names in compared)
    assert [number for number, names in enumerate(compared) if names > versions] == [0, 4, 8, 12, 16]
    assert set().union(*compared) == {prop.name for prop in asked if prop.comparison and prop.covers(alone)}


def test_beside_four_scenarios_of_homes_come_one_of_each_further_arena_and_reno(small: Path) -> None:
    asked = read_properties.load_all(implementations.known()["libutp"], against_version=False)
    place = arena.read(small, "libutp")
    further = arena.further("libutp")
    runs = Formula(small.parent, asked, lambda *_: 1.0)
    hunt = Hunt(place, asked, "libutp", "tcp-cubic", runs, 1, "tour", lambda: 0, further=further)
    hunt.trials = hunt._drawn()
    hunt.trials += hunt._drawn()
    assert [trial.arena for trial in hunt.trials] == [0, 0, 0, 0, 1, 2, 3, 4] * 2
    assert len({name(trial.scenario) for trial in hunt.trials if trial.arena}) == 8
    assert [trial.point for trial in hunt.trials if not trial.arena] == [
        *search.batch(place, 0, 1, "tour"),
        *search.batch(place, 4, 1, "tour"),
    ]
    lives = hunt.trials[4].scenario
    assert lives["duration"] == "20min"
    assert {"slow-for-long", "unused"} <= {prop.name for prop in hunt._due(0, lives)}
    assert "slow-for-long" not in {prop.name for prop in hunt._due(0, hunt.trials[5].scenario)}
    of_cubic = read_properties.load_all(implementations.known()["tcp-cubic"], against_version=False)
    assert "slow" in {prop.name for prop in of_cubic} - {prop.name for prop in asked}


@pytest.mark.parametrize(
    ("events", "duration", "is_covered"),
    [
        ([], "30s", True),
        ([{"at": "5s", "on": "path", "delay": {"forward": "100ms"}}], "30s", False),
        ([{"at": "5s", "on": "path", "delay": {"forward": "100ms"}}], "20min", True),  # forgotten by then
        ([{"at": "600s", "on": "path", "delay": {"forward": "100ms"}}], "20min", False),
        ([{"at": "5s", "on": "path", "delay": {"backward": "100ms"}}], "30s", True),
        (
            [
                {"at": "5s", "on": "path", "delay": {"forward": "1ms"}},
                {"at": "7s", "on": "path", "delay": {"forward": "50ms"}},
            ],
            "30s",
            False,
        ),
    ],
)
def test_what_a_longer_route_makes_slow_for_ten_minutes_is_no_fault(
    events: list[dict[str, Any]], duration: str, is_covered: bool
) -> None:
    slow = read_properties.load(read_properties.FOLDER / "slow.yaml")
    alone = {"flows": [{"name": "client"}], "delay": {"forward": "50ms", "backward": "1ms"}, "bottleneck": {}}
    assert slow.covers(alone | {"duration": duration, "events": events}) is is_covered


def test_marks_are_asked_for_where_a_queue_marks() -> None:
    marks = read_properties.load(read_properties.FOLDER / "marks.yaml")
    alone = {"flows": [{"name": "client"}], "delay": {"forward": "5ms", "backward": "1ms"}, "duration": "20s"}
    assert marks.covers(alone | {"bottleneck": {"queue": "codel", "params": {"ecn": True}}})
    assert not marks.covers(alone | {"bottleneck": {"queue": "codel"}})


def test_what_pauses_outages_and_fast_paths_are_asked() -> None:
    """LEDBAT, which grows by a packet in each round trip, need not use a path that it cannot fill in time."""

    def asked(client: str, **changed: Any) -> set[str]:
        link = {"bottleneck": {"rate": "10mbit", "buffer": "50p"}, "delay": {"forward": "50ms", "backward": "50ms"}}
        alone = {"flows": [{"name": "client"}], "duration": "50s", "matrix": {"client": [client]}}
        every = read_properties.load_all(implementations.known()[client])
        return {prop.name for prop in every if prop.covers({**link, **alone, **changed})}

    usual = asked("tcp-ledbatpp")
    assert {"slow", "unused"} < usual
    outage = [{"at": "9s", "on": "path", "loss": {"forward": "100%"}}]
    assert asked("tcp-ledbatpp", events=outage) == usual | {"after-outage"}
    pausing = [{"name": "client", "writes": {"bytes": "1MB", "every": "8s"}}]
    assert asked("tcp-ledbatpp", flows=pausing) == usual | {"after-pause"}
    far = {"delay": {"forward": "300ms", "backward": "300ms"}, "duration": "20s"}
    fast = far | {"bottleneck": {"rate": "100mbit", "buffer": "50p"}}
    assert asked("tcp-ledbatpp", **far) == usual - {"slow"}
    assert asked("tcp-ledbatpp", **fast) == (usual | {"starts"}) - {"slow"}
    assert "unused" in asked("tcp-ledbat")
    assert not {"unused", "starts"} & asked("tcp-ledbat", **fast)


def test_only_controls_of_the_kernel_pause() -> None:
    of_kernel, of_program = (
        {place.document.file.stem for place in arena.further(client)} for client in ("tcp-reno", "quic-go")
    )
    assert of_kernel - of_program == {"pauses"}
    assert len(of_kernel) == len(arena.FURTHER)


def test_a_path_at_fault_is_no_finding(small: Path) -> None:
    def everyone_dies(scenario: Data, expression: str) -> float:
        return 2.0 if expression == "duration" else 1.0

    hunt = hunted(small, 1, everyone_dies)
    assert not hunt.findings
    assert hunt.refuted


def test_nothing_that_a_shrunk_scenario_has_can_be_left_out(small: Path) -> None:
    hunt = hunted(small, 2)
    [finding] = hunt.findings
    question = HuntQuestion(finding.prop, "libutp", "tcp-cubic", hunt.runs)
    assert not any(question.breaking(list(shrink.changes(finding.scenario))))


def test_a_shrunk_path_has_the_packet_size_that_was_met() -> None:
    """QUIC needs 1228 bytes, so a path of 1000 would tell nothing."""
    place = arena.read(arena.DEFAULT, "quic-go")
    scenario = place.scenario({knob.name: 0 for knob in place.knobs}, "quic-go")
    sizes = {
        event["mtu"]["forward"]
        for change in shrink.changes(scenario)
        for event in change.get("events", ())
        if "mtu" in event
    }
    assert sizes == {"1280B"}


def test_nothing_beside_a_finding_breaks_a_rule(tmp_path: Path) -> None:
    """Five percent more than all packets cannot be lost, and an event cannot come after the end."""
    event = {"at": "1900ms", "on": "path", "loss": {"forward": "100%"}, "burst": {"forward": "4p"}}
    scenario = {**yaml.safe_load(FIXED), "duration": "2s", "events": [event], "matrix": {"client": ["tcp-reno"]}}
    scenario["flows"][1]["start"] = "1900ms"
    asked = read_properties.of_expression("duration > 3")
    known: dict[str, Data] = {}

    def breaks_always(scenario: Data, _expression: str) -> float:
        known[name(scenario)] = scenario
        return 0.0

    question = HuntQuestion(asked, "tcp-reno", "tcp-cubic", Formula(tmp_path, [asked], breaks_always))
    survival.survival(scenario, question)
    list(shrink.shrink(scenario, question.breaking))
    assert len(known) > 20
    for digest, tried in known.items():
        (file := tmp_path / f"{digest}.yaml").write_text(text(tried))
        assert len(expand(file, "complete")) == 1


def test_changes_are_merged_whatever_their_order() -> None:
    before: Data = {"a": 1, "b": {"c": 2, "d": 3}, "events": [{"at": "1s"}, {"at": "2s"}, {"at": "3s"}]}
    fewer_fields = before | {"b": {"c": 2}}
    fewer_events = before | {"events": [{"at": "1s"}, {"at": "3s"}]}
    both = shrink._merged(before, fewer_events, shrink._merged(before, fewer_fields, before))
    assert both == {"a": 1, "b": {"c": 2}, "events": [{"at": "1s"}, {"at": "3s"}]}
    assert both == shrink._merged(before, fewer_fields, shrink._merged(before, fewer_events, before))


@pytest.mark.parametrize(
    ("seeds", "changed", "is_fragile"), [(20, 10, False), (16, 8, False), (15, 10, True), (20, 7, True)]
)
def test_what_is_fragile(seeds: int, changed: int, is_fragile: bool) -> None:
    left = Survival(seeds, 20, changed, 10)
    assert left.is_fragile == is_fragile
    assert str(left).startswith("fragile: ") == is_fragile


@pytest.mark.parametrize("words", [[], ["--property", "queue_ms.max() <= 2"]], ids=["built-in", "own"])
def test_a_search_starts_no_more_runs_than_its_budget(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than a batch has; all numbers are 1, so no finding needs further runs."""
    started: list[str] = []

    def ends(
        _work: object, jobs: Mapping[tuple[str, int], measure.RunRequest], _kept: object
    ) -> Iterator[tuple[tuple[str, int], Measured]]:
        for key, order in jobs.items():
            started.append(order.scenario.name)
            yield key, Measured(dict.fromkeys(order.expressions, 1.0))

    monkeypatch.setattr(measure, "as_they_end", ends)
    monkeypatch.setattr(
        read_properties,
        "load_all",
        lambda _, **_asked: [read_properties.load(read_properties.FOLDER / "capacity.yaml")],
    )
    main(["hunt", "tcp-bbr", *words, "--budget", "6runs", "--into", str(tmp_path)])
    assert 5 <= len(started) <= 6
    assert json.loads((tmp_path / "tcp-bbr" / "hunt.json").read_text())["all_runs"] == len(started)
    assert "provenance" not in (tmp_path / "tcp-bbr" / "index.html").read_text()  # no run is kept that could have any


def test_a_search_ends_where_an_arena_has_nothing_new(small: Path) -> None:
    """Its two points need fewer runs than the budget has."""
    small.write_text(yaml.safe_dump(yaml.safe_load(SMALL) | TWO_POINTS))
    asked = [read_properties.load(read_properties.FOLDER / "death.yaml")]
    runs = Formula(small.parent, asked, lambda _scenario, text: 2.0 if text == "duration" else math.inf)
    steps = iter(range(50))
    place = arena.read(small, "libutp")
    hunt = Hunt(place, asked, "libutp", "tcp-cubic", runs, 1, "random", lambda: 500 - next(steps))
    assert list(hunt.broken()) == []
    assert len(runs.requested) == 2


def test_an_arena_of_which_no_property_speaks(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_text("".join(line for line in SMALL.splitlines(True) if "beside" not in line))
    order = ["hunt", "tcp-bbr", "--only", "harm", "--arena", str(small), "--budget", "9runs"]
    assert main([*order, "--into", str(small.parent / "results")]) == 2
    message = (
        "--arena: found an arena in whose scenarios the client is always alone; allowed: one to which harm applies"
    )
    assert message in capsys.readouterr().err


def test_a_packet_of_quic_shows_no_numbers() -> None:
    """What stands where uTP has them is encrypted."""
    row = {"time_ns": 1_500_000_000, "forward": True, "utp_type": None, "seq": 7, "ack": 8, "payload_bytes": 1452}
    assert str(packets._packet(row | {"flags": 0}, is_udp=True)) == "  1.500000 -> UDP    1452 bytes"
    assert "seq 7  ack 8" in str(packets._packet(row | {"flags": 0}, is_udp=False))


def test_numbers_of_other_images_do_not_count(tmp_path: Path) -> None:
    entry = {"scenario": "s", "seed": 1, "made_of": "these", "cpu_s": 1.0, "numbers": {"duration": 2.0}}
    (tmp_path / measure.FILE).write_text(json.dumps(entry) + "\n" + json.dumps(entry)[:20])
    assert MeasuredRuns(tmp_path, ("duration",), "these").cpu_s == 0.0
    known = [
        MeasuredRuns(tmp_path, wanted, made)._known
        for wanted, made in ((("duration",), "these"), (("duration",), "those"), (("jain()",), "these"))
    ]
    assert [list(numbers) for numbers in known] == [[("s", 1)], [], []]


def test_runs_that_a_time_cuts_off_were_not_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs that end within the budget's time, and one that would not begin before its end."""
    ended: list[object] = []

    def ends(_work: object, jobs: Mapping[object, object], _kept: object) -> Iterator[tuple[object, Measured]]:
        for key in jobs:
            ended.append(key)
            yield key, Measured({"duration": 2.0})

    monkeypatch.setattr(measure, "as_they_end", ends)
    runs = MeasuredRuns(tmp_path, ("duration",), "these", has_room=lambda _runs: len(ended) < 3)
    wanted: list[tuple[Data, int]] = [({"title": "a path"}, seed) for seed in range(1, 5)]
    with pytest.raises(OverBudgetError):
        runs.request(wanted)
    assert len(ended) == len(runs.requested) == 3
    runs.request(wanted[:3])
    with pytest.raises(OverBudgetError):
        runs.request(wanted[3:])
    assert len(ended) == 3


def test_how_long_a_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    a_time, a_number = command._Budget("2min"), command._Budget("40runs")
    now_s = 130.0
    assert (a_time.left_s(10), a_number.left_s(10)) == (90, 90)
    assert command._left(90) == "about 90 s left"
    assert command._left(a_number.left_s(5)) == "about 4 min left"
    now_s = 220.0
    assert (a_time.left_s(50), a_number.left_s(50)) == (0, 0)
    assert [[budget.left(runs) for runs in (10, 40)] for budget in (a_time, a_number)] == [[0, 0], [30, 0]]
    assert [a_number.has_room(runs) for runs in (40, 41)] == [True, False]
    assert not a_time.has_room(1)
    assert command._Budget("2min").left(1000) == math.inf
    assert command._Budget("2min").has_room(1000)
    assert command._left(0) == "the budget is used up"


def test_a_real_hunt(small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """CUBIC fills a buffer of 50 packets, which at 2 Mbit/s are 300 ms.

    A budget bounds shrinking, too; a larger one continues; and the same one again runs nothing.
    """
    monkeypatch.setattr(search, "FIRST", 2)
    monkeypatch.setattr(survival, "SEEDS", range(1, 4))
    monkeypatch.setattr(survival.survival, "__defaults__", (range(1, 4),))
    order = ["hunt", "tcp-cubic", "--property", "queue_ms.max() < 200", "--arena", str(small)]
    order += ["--into", str(small.parent / "results"), "--budget"]
    folder = small.parent / "results" / "tcp-cubic"
    assert main([*order, "9runs"]) == 1
    document = json.loads((folder / "hunt.json").read_text())
    assert document["all_runs"] <= 9
    assert document["findings"][0]["survival"].startswith("not minimal yet: ")
    assert "No single change makes it smaller" not in (folder / "index.html").read_text()
    order.append("84runs")
    capsys.readouterr()
    assert main(order) == 1
    printed = capsys.readouterr().out
    assert f"Page: {folder / 'index.html'}" in printed
    assert unsound_by_itself(folder / "index.html") == []
    first = {
        file: file.read_bytes() for file in folder.rglob("*") if file.suffix in (".json", ".html", ".jsonl", ".md")
    }
    document = json.loads((folder / "hunt.json").read_text())
    [finding] = document["findings"]
    own = folder / "findings" / finding["id"]
    assert finding["parts"] == []
    assert finding["measured"] > 200
    assert "seeds break it" in finding["survival"]
    assert document["all_runs"] <= 84
    assert finding["packets"]
    assert Path(shlex.split(finding["rewind"])[2]).is_dir()
    assert Path(shlex.split(finding["command"])[2]).is_file()
    assert (own / "figure.svg").exists()
    [cell] = expand(own / evidence.SCENARIO, "complete")
    assert cell.settings["flows"][0]["implementation"] == "tcp-cubic"
    [budget] = budgets.load(folder / "gate.yaml").budgets
    assert budget.scenario == f"findings/{finding['id']}/scenario.yaml"
    assert main(order) == 1
    assert capsys.readouterr().out == printed
    assert {file: file.read_bytes() for file in first if "/runs/" not in str(file)} == {
        file: content for file, content in first.items() if "/runs/" not in str(file)
    }
