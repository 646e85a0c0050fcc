"""Scenario files: what they become, and the messages when they are wrong."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from scenarios import implementations, scenario_files
from scenarios.cells import plan
from scenarios.errors import ScenarioError, choices
from scenarios.resolve import expand, resolve
from topologies import by_name

STUDIES = Path(__file__).parents[2] / "workflows" / "studies"
MISTAKES: dict[str, list[dict[str, str]]] = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())

BASE = """\
experiment: study-one
title: Two flows
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 5ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
  - {name: ledbat, implementation: tcp-ledbat, from: s2, to: d2, start: 2s, params: {target: 50ms}}
duration: 20s
"""


DRAWN = "on: path, delay: {base: 35ms, mean_extra: 30ms}"


@pytest.fixture
def scenario(tmp_path: Path) -> Any:
    """Writes a scenario file: the base above with some lines replaced, and lines added at the end."""

    def write(extra: str = "", **replaced: str) -> Path:
        lines = BASE.splitlines(keepends=True)
        for name, value in replaced.items():
            [index] = [index for index, line in enumerate(lines) if line.startswith(f"{name}:")]
            lines[index] = f"{name}: {value}\n"
        file = tmp_path / "study" / "one.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(lines) + extra)
        return file

    return write


def with_flow(file: Path, flow: str) -> Path:
    """The base with one flow, this one."""
    lines = file.read_text().splitlines()
    lines[6:8] = [f"  - {flow}"]
    file.write_text("\n".join(lines))
    return file


def test_run_json_has_every_value_decided(scenario: Any) -> None:
    [cell] = expand(scenario(), "complete")
    run = resolve(cell, 3)
    assert run.pop("network") == by_name.describe(run).plain()
    planned = [run.pop(name) for name in ("backend", "implementations", "lead", "sizes", "hosts")]
    assert planned[0] == "virtual"
    assert all(planned)
    assert run == {
        "format": 2,
        "study": "study",
        "experiment": "study-one",
        "cell": "single",
        "size": "complete",
        "cell_values": {},
        "seed": 3,
        "title": "Two flows",
        "topology": {"name": "dumbbell", "pairs": 2},
        "bottleneck": {"rate_bps": 10_000_000, "overhead_bytes": 0, "buffer_pkts": 40},
        "backward_bottleneck": None,
        "delay": {"forward_ns": 25_000_000, "backward_ns": 5_000_000},
        "delay_b": None,
        "tcp": {
            "ack": "delayed",
            "initial_window_pkts": 10,
            "timestamps": "1us",
            "receiver_timestamps": "1us",
            "recovery": "linux",
            "pacing": "linux",
        },
        "offload": False,
        "flows": [
            {
                "name": "tcp",
                "implementation": "tcp-reno",
                "from": "s1",
                "to": "d1",
                "from_address": "10.0.1.1",
                "to_address": "10.1.1.1",
                "port": 5001,
                "direction": "forward",
                "start_ns": 0,
                "stop_ns": 20_000_000_000,
                "bytes": None,
                "params": {},
            },
            {
                "name": "ledbat",
                "implementation": "tcp-ledbat",
                "from": "s2",
                "to": "d2",
                "from_address": "10.0.2.1",
                "to_address": "10.1.2.1",
                "port": 5002,
                "direction": "forward",
                "start_ns": 2_000_000_000,
                "stop_ns": 20_000_000_000,
                "bytes": None,
                "params": {
                    "target_ns": 50_000_000,
                    "slow_start": "never",
                    "pacing": False,
                    "base_history": 10,
                    "current_filter": 4,
                    "min_window_pkts": 2,
                    "gain_ppm": 1_000_000,
                    "allowed_increase_pkts": 1,
                },
            },
        ],
        "events": [],
        "duration_ns": 20_000_000_000,
        "sample_ns": 10_000_000,
        "captures": ["bottleneck-in", "bottleneck-out"],
        "keep_captures": False,
    }


def test_two_implementations_may_meet_in_a_flow(scenario: Any) -> None:
    sides = "{sender: utp-rs, receiver: libutp}"
    flow = f"{{name: a, implementation: {sides}, from: s1, to: d1, params: {{target: 50ms, receive_buffer: 20000B}}}}"
    [cell] = expand(with_flow(scenario(), flow), "complete")
    [resolved] = cell.settings["flows"]
    assert (resolved["implementation"], resolved["receiver_implementation"]) == ("utp-rs", "libutp")
    # what both declare is for both; what one declares is for that side
    assert resolved["params"] == {"target_ns": 50_000_000}
    assert (resolved["receiver_params"]["target_ns"], resolved["receiver_params"]["receive_buffer_bytes"]) == (
        50_000_000,
        20_000,
    )
    [planned] = plan([cell.scenario], "complete")
    assert planned["programs"] == ["libutp", "utp-rs"]


def test_the_same_on_both_sides_is_one_implementation(scenario: Any) -> None:
    flow = "{name: a, implementation: {sender: libutp, receiver: libutp}, from: s1, to: d1}"
    [cell] = expand(with_flow(scenario(), flow), "complete")
    assert "receiver_implementation" not in cell.settings["flows"][0]


def test_start_jitter_is_drawn_from_the_seed_alone(scenario: Any) -> None:
    [cell] = expand(scenario("start_jitter: 10ms\n"), "complete")
    starts = {seed: [flow["start_ns"] for flow in resolve(cell, seed)["flows"]] for seed in (1, 2)}
    # Fixed numbers: the same on every machine and in every version, or results no longer repeat.
    assert starts == {1: [5_660_187, 2_002_371_690], 2: [6_025_719, 2_007_271_733]}


def test_one_flow_more_leaves_the_others_starts_alone(scenario: Any) -> None:
    def first_start(file: Path) -> int:
        return int(resolve(expand(file, "complete")[0], 1)["flows"][0]["start_ns"])

    three = "  - {name: third, implementation: tcp-cubic, from: s1, to: d2}\nduration: 20s"
    before = first_start(scenario("start_jitter: 10ms\n"))
    file = scenario("start_jitter: 10ms\n")
    file.write_text(file.read_text().replace("duration: 20s", three))
    assert first_start(file) == before


def test_drawn_events_are_in_run_json_and_differ_by_seed(scenario: Any) -> None:
    lines = f"drawn_events: [{{at: 5s, mean_gap: 1s, {DRAWN}}}]\nevents: [{{at: 6s, on: bottleneck, rate: 1mbit}}]\n"
    [cell] = expand(scenario(lines), "complete")
    first, second = resolve(cell, 1)["events"], resolve(cell, 2)["events"]
    assert first == resolve(cell, 1)["events"] != second
    assert "drawn_events" not in resolve(cell, 1)
    [later] = expand(scenario(lines.replace("at: 5s", "after: 5s")), "complete")
    assert resolve(later, 1)["events"][0]["at_ns"] > 5_000_000_000
    # Fixed numbers: the same on every machine and in every version, or results no longer repeat.
    assert (first[0]["at_ns"], first[0]["delay"]) == (5_000_000_000, {"forward_ns": 69_064_143})
    instants = [event["at_ns"] for event in first]
    assert instants == sorted(instants) and instants[-1] < 20_000_000_000
    assert [event["on"] for event in first].count("bottleneck") == 1


def test_drawn_events_have_the_means_they_should_have(scenario: Any) -> None:
    drawn = "drawn_events: [{at: 0s, mean_gap: 100ms, on: path, delay: {base: 35ms, mean_extra: 60ms, DIRECTIONS}}]\n"
    [cell] = expand(
        scenario(drawn.replace("DIRECTIONS", "directions: [forward, backward]"), duration="1000s"), "complete"
    )
    events = resolve(cell, 1)["events"]
    extra_ms = [event["delay"]["forward_ns"] / 1e6 - 35 for event in events]
    count = len(events)
    assert abs(count / 10_000 - 1) < 0.05  # five standard deviations
    assert min(extra_ms) >= 0 and abs(sum(extra_ms) / count / 60 - 1) < 0.05
    assert 0.6 < sum(extra < 60 for extra in extra_ms) / count < 0.66  # 1 - 1/e
    assert all(event["delay"]["forward_ns"] == event["delay"]["backward_ns"] for event in events)


def test_an_event_may_be_on_the_paths_of_some_pairs(scenario: Any) -> None:
    [cell] = expand(scenario("events: [{at: 1s, on: path, pairs: [2], delay: {forward: 40ms}}]\n"), "complete")
    [event] = resolve(cell, 1)["events"]
    assert event["changes"] == [{"node": "r2", "interface": "r2-d2", "set": {"delay_ns": 40_000_000}}]


def test_a_count_of_flows_is_so_many_flows(scenario: Any) -> None:
    file = scenario("matrix: {n: [1, 3]}\n", topology="{name: dumbbell, pairs: 3}")
    flow = '{name: low, implementation: tcp-ledbat, from: s1, to: d1, count: "${n}", start: 1s, every: 2s}'
    single, three = expand(with_flow(file, flow), "complete")
    assert [flow["name"] for flow in single.settings["flows"]] == ["low-1"]
    assert [(flow["name"], flow["from"], flow["to"], flow["start_ns"]) for flow in three.settings["flows"]] == [
        ("low-1", "s1", "d1", 1_000_000_000),
        ("low-2", "s2", "d2", 3_000_000_000),
        ("low-3", "s3", "d3", 5_000_000_000),
    ]
    with pytest.raises(ScenarioError, match=r":7: flows\[2\]\.from: unknown host 's3'; allowed: s1, s2"):
        file = scenario()
        expand(with_flow(file, flow.replace('"${n}"', "3")), "complete")


def test_a_suspension_ends_and_one_that_begins_during_another_prolongs_it(scenario: Any) -> None:
    lines = "".join(
        f"  - {{at: {at}, on: path, suspension: {held}}}\n"
        for at, held in (
            ("1s", "{forward: 200ms}"),
            ("1100ms", "{forward: 300ms, backward: 1s}"),
            ("19900ms", "{forward: 1s}"),
        )
    )
    [cell] = expand(scenario(f"events:\n{lines}"), "complete")
    assert [(event["at_ns"] / 1e9, event["suspension"]) for event in resolve(cell, 1)["events"]] == [
        (1, {"forward_ns": 400_000_000}),
        (1.1, {"backward_ns": 1_000_000_000}),
        (1.4, {"forward_ns": 0}),
        (2.1, {"backward_ns": 0}),
        (19.9, {"forward_ns": 1_000_000_000}),
    ]


def test_drawn_suspensions_are_as_long_as_they_may_be(scenario: Any) -> None:
    suspended = "suspension: {least: 100ms, most: 300ms, directions: [forward, backward]}"
    drawn = f"drawn_events: [{{after: 0s, mean_gap: 50s, on: path, {suspended}}}]\n"
    [cell] = expand(scenario(drawn, duration="1000min"), "complete")
    events = [event["suspension"] for event in resolve(cell, 1)["events"]]
    lengths = [event["forward_ns"] / 1e6 for event in events if event.get("forward_ns")]
    assert len(lengths) == pytest.approx(1200, abs=5 * 1200**0.5)
    # few overlap and are longer
    assert 100 <= min(lengths) < 101 and 295 < sorted(lengths)[-20] < 600
    assert all(event["forward_ns"] == event["backward_ns"] for event in events if len(event) == 2)


def test_clocks_are_in_run_json_only_where_there_are_any(scenario: Any) -> None:
    file = scenario("clocks: [{host: d1, offset: -3s}, {host: s2, skew: 31ppm}]\n")
    assert resolve(expand(file, "complete")[0], 1)["clocks"] == [
        {"host": "d1", "offset_ns": -3_000_000_000, "skew_ppb": 0},
        {"host": "s2", "offset_ns": 0, "skew_ppb": 31_000},
    ]


def test_events_are_resolved_and_sorted(scenario: Any) -> None:
    events = """\
events:
  - {at: 9s, on: path, delay: {forward: 40ms}, jitter: {forward: 1ms, backward: 2ms}}
  - {at: 5s, on: bottleneck, rate: 5mbit, buffer: 20p}
  - {at: 7s, on: path, loss: {forward: 0.1%}}
"""
    assert resolve(expand(scenario(events), "complete")[0], 1)["events"] == [
        {
            "at_ns": 5_000_000_000,
            "on": "bottleneck",
            "rate_bps": 5_000_000,
            "buffer_pkts": 20,
            "changes": [{"node": "r1", "interface": "r1-r2", "set": {"rate_bps": 5_000_000, "buffer_pkts": 20}}],
        },
        {
            "at_ns": 7_000_000_000,
            "on": "path",
            "loss": {"forward_ppm": 1000},
            "changes": [{"node": "r2", "interface": f"r2-d{pair}", "set": {"loss_ppm": 1000}} for pair in (1, 2)],
        },
        {
            "at_ns": 9_000_000_000,
            "on": "path",
            "delay": {"forward_ns": 40_000_000},
            "jitter": {"forward_ns": 1_000_000, "backward_ns": 2_000_000},
            "changes": [
                *(
                    {"node": "r2", "interface": f"r2-d{pair}", "set": {"delay_ns": 40_000_000, "jitter_ns": 1_000_000}}
                    for pair in (1, 2)
                ),
                *({"node": "r1", "interface": f"r1-s{pair}", "set": {"jitter_ns": 2_000_000}} for pair in (1, 2)),
            ],
        },
    ]


def test_a_matrix_gives_one_cell_for_each_combination(scenario: Any) -> None:
    file = scenario(
        "matrix: {buffer: [40p, 100p], slow: [never, once]}\n",
        bottleneck='{rate: 10mbit, buffer: "${buffer}"}',
        title="buffer ${buffer}",
    )
    file.write_text(file.read_text().replace("{target: 50ms}", '{slow_start: "${slow}"}'))
    cells = expand(file, "complete")
    assert [cell.name for cell in cells] == [
        "buffer=40p,slow=never",
        "buffer=40p,slow=once",
        "buffer=100p,slow=never",
        "buffer=100p,slow=once",
    ]
    last = resolve(cells[3], 1)
    assert last["bottleneck"]["buffer_pkts"] == 100
    assert last["flows"][1]["params"]["slow_start"] == "once"
    assert last["title"] == "buffer 100p"
    assert last["cell_values"] == {"buffer": "100p", "slow": "once"}


def test_paired_cells_draw_the_same_numbers(scenario: Any) -> None:
    more = "matrix: {buffer: [40p, 100p], rate: [2mbit, 5mbit]}\npaired: [rate]\nstart_jitter: 1s\n"
    file = scenario(more, bottleneck='{rate: "${rate}", buffer: "${buffer}"}')
    starts = [resolve(cell, 1)["flows"][0]["start_ns"] for cell in expand(file, "complete")]
    assert starts[0] == starts[1] != starts[2] == starts[3]


def test_the_seed_draws_how_much_longer_the_way_is(scenario: Any) -> None:
    (cell,) = expand(scenario("delay_spread: 1ms\n"), "complete")
    delays = [resolve(cell, seed)["delay"] for seed in (1, 1, 2)]
    assert delays[0] == delays[1] != delays[2]
    assert all(0 <= delay["forward_ns"] - 25_000_000 < 1_000_000 for delay in delays)


def test_only_what_varies_can_be_paired(scenario: Any) -> None:
    with pytest.raises(ScenarioError, match=r"paired\[0\]: found 'rat'; allowed: buffer"):
        expand(
            scenario("matrix: {buffer: [40p]}\npaired: [rat]\n", bottleneck='{rate: 2mbit, buffer: "${buffer}"}'),
            "complete",
        )


def test_what_is_wrong_in_a_cell_hides_nothing_that_is_wrong_in_the_whole(scenario: Any) -> None:
    with pytest.raises(ScenarioError) as error:
        expand(
            scenario("matrix: {buffer: [many]}\npaired: [rat]\n", bottleneck='{rate: 2mbit, buffer: "${buffer}"}'),
            "complete",
        )
    assert "bottleneck.buffer: found 'many'" in str(error.value)
    assert "paired[0]: found 'rat'; allowed: buffer" in str(error.value)


def test_a_choice_that_a_parameter_has_not_is_refused(scenario: Any) -> None:
    file = scenario("")
    file.write_text(file.read_text().replace("{target: 50ms}", "{slow_start: after-loss}"))
    with pytest.raises(ScenarioError, match=r"slow_start: found 'after-loss'; allowed: never, once"):
        expand(file, "complete")


def test_cases_differ_in_the_fields_they_name(scenario: Any) -> None:
    cases = """\
cases:
  plain: {}
  slow: {bottleneck: {rate: 2mbit}, flows: [{name: only, implementation: tcp-cubic, from: s1, to: d1}]}
matrix: {b: [10p, 20p]}
"""
    file = scenario(cases, bottleneck='{rate: 10mbit, buffer: "${b}"}')
    runs = {cell.name: resolve(cell, 1) for cell in expand(file, "complete")}
    assert list(runs) == ["case=plain,b=10p", "case=plain,b=20p", "case=slow,b=10p", "case=slow,b=20p"]
    assert runs["case=slow,b=20p"]["bottleneck"] == {"rate_bps": 2_000_000, "overhead_bytes": 0, "buffer_pkts": 20}
    assert [flow["name"] for flow in runs["case=slow,b=10p"]["flows"]] == ["only"]
    assert len(runs["case=plain,b=10p"]["flows"]) == 2
    assert runs["case=slow,b=10p"]["cell_values"] == {"case": "slow", "b": "10p"}


def test_a_size_changes_the_seeds_and_nothing_else(scenario: Any) -> None:
    """A case has its own; at size quick one seed unless the file says another number, and 0 leaves a cell out."""
    file = scenario("seeds: {complete: 3}\ncases: {a: {}, b: {seeds: {complete: 5}}, c: {seeds: {quick: 0}}}\n")
    complete, quick = expand(file, "complete"), expand(file, "quick")
    assert [list(cell.seeds) for cell in complete] == [[1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3]]
    assert [list(cell.seeds) for cell in quick] == [[1], [1], []]
    assert [cell.settings for cell in complete] == [cell.settings for cell in quick]


@pytest.mark.parametrize("mistake", MISTAKES["files"], ids=lambda mistake: mistake["says"])
def test_a_mistake_is_told_with_its_line_and_field(scenario: Any, mistake: dict[str, str]) -> None:
    replaced = {name: text for name, text in mistake.items() if name not in ("more", "says")}
    file = scenario(f"{mistake['more']}\n" if "more" in mistake else "", **replaced)
    with pytest.raises(ScenarioError) as error:
        expand(file, "complete")
    assert str(error.value).startswith(f"{file}:")
    assert mistake["says"] in str(error.value)


@pytest.mark.parametrize("mistake", MISTAKES["flows"], ids=lambda mistake: mistake["says"])
def test_a_mistake_in_a_flow(scenario: Any, mistake: dict[str, str]) -> None:
    file = scenario()
    lines = file.read_text().splitlines()
    lines[7] = f"  - {mistake['flow']}"
    file.write_text("\n".join(lines))
    with pytest.raises(ScenarioError) as error:
        expand(file, "complete")
    assert str(error.value).startswith((f"{file}:8: flows[1]", f"{file}:9: flows[2]"))
    assert mistake["says"] in str(error.value)


def test_a_clock_that_no_packet_shows_is_refused(scenario: Any) -> None:
    file = scenario("clocks: [{host: s1, offset: 1s}, {host: d2, offset: 1s}]\n")
    call = "{name: call, implementation: udp-cbr, from: s2, to: d2}"
    file.write_text(
        file.read_text().replace("{name: ledbat, implementation: tcp-ledbat, from: s2, to: d2,", f"{call} #")
    )
    with pytest.raises(ScenarioError) as error:
        expand(file, "complete")
    found = "found 'd2', whose flow 'call' is udp-cbr, without timestamps"
    allowed = "hosts all of whose flows are over TCP or uTP"
    assert str(error.value) == f"{file}:10: clocks[1].host: {found}; allowed: {allowed}"


@pytest.mark.parametrize(
    ("link", "pkts"),
    [
        ("{rate: 10mbit, buffer: 100ms}", 83),
        ("{rate: 20mbit, buffer: 1s}", 1666),
        ("{rate: 12mbit, buffer: 25ms}", 25),
        ("{rate: 10mbit, buffer: 1ms}", 1),
        ("{rate: 10mbit, buffer: 100ms, overhead: 38B}", 81),
        ("{rate: 1mbit, buffer: 1s, cells: true}", 73),  # 32 cells of 53 bytes each
    ],
)
def test_a_buffer_in_time_holds_the_packets_that_leave_in_it(scenario: Any, link: str, pkts: int) -> None:
    [cell] = expand(scenario(bottleneck=link), "complete")
    assert resolve(cell, 1)["bottleneck"]["buffer_pkts"] == pkts
    [cell] = expand(scenario("events: [{at: 1s, on: bottleneck, rate: 5mbit, buffer: 1s}]\n"), "complete")
    assert resolve(cell, 1)["events"][0]["buffer_pkts"] == 416


def test_all_mistakes_are_told_at_once_and_each_once(scenario: Any) -> None:
    file = scenario("sample: 1\nmatrix: {b: [1p, 2p]}\n", duration="20", bottleneck='{rate: 1, buffer: "${b}"}')
    with pytest.raises(ScenarioError) as error:
        expand(file, "complete")
    assert [problem.line for problem in error.value.problems] == [4, 9, 10]


@pytest.mark.parametrize("content", [b"\xff", b"- a list", b"", b"a: [", b"a: b: c"])
def test_files_that_are_no_scenario(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    with pytest.raises(ScenarioError, match=r"bad\.yaml:\d+: "):
        expand(file, "complete")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        expand(tmp_path / "none.yaml", "complete")


def test_on_is_no_truth_value_here(scenario: Any) -> None:
    file = scenario("events: [{at: 1s, on: bottleneck, rate: 1mbit}]\n")
    assert True in yaml.safe_load(file.read_text())["events"][0]  # what YAML 1.1 makes of it
    assert resolve(expand(file, "complete")[0], 1)["events"][0]["on"] == "bottleneck"


def test_a_plan_lists_cells_and_refuses_an_experiment_that_two_files_claim(scenario: Any) -> None:
    file = scenario("seeds: {complete: 2}\n")
    assert plan([file], "complete") == [
        {
            "study": "study",
            "experiment": "study-one",
            "cell": "single",
            "seeds": [1, 2],
            "virtual_s": 20.0,
            "capacity_bps": 10_000_000,
            "flows": 2,
            "sample_s": 0.01,
            "scenario": str(file),
            "implementations": ["tcp-ledbat", "tcp-reno"],
            "descriptions": [
                str(STUDIES.parents[1] / "images/implementations" / name / "implementation.yaml")
                for name in ("tcp-ledbat", "tcp-reno")
            ],
            "programs": [],
            "speeds": {},
            "traces": [],
        }
    ]
    twin = file.with_name("twin.yaml")
    twin.write_text(file.read_text())
    with pytest.raises(ScenarioError, match=r"twin\.yaml:1: experiment: 'study-one' is also the experiment of"):
        plan([file, twin], "complete")


@pytest.mark.parametrize("size", ["complete", "quick"])
def test_all_scenarios_of_the_project_are_valid(size: str) -> None:
    files = [file for study in sorted(STUDIES.iterdir()) for file in scenario_files(study)]
    planned = plan(files, size)
    assert {row["scenario"] for row in planned} == {str(file) for file in files}
    for file in files:
        for cell in expand(file, size):
            assert cell.experiment.startswith(f"{cell.study}-"), file
            resolve(cell, 1)


def test_implementations_of_the_project_are_valid() -> None:
    known = implementations.known()
    assert {"tcp-reno", "tcp-cubic", "tcp-ledbat"} <= known.keys()
    for implementation in known.values():
        declared = implementation["parameters"]
        assert len(implementations.resolved_parameters({}, declared)) == len(declared)


def test_what_an_implementation_file_lacks_is_told_in_the_schemas_order_with_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "implementation.yaml").write_text("title: mine\nkind: program\n")
    with pytest.raises(ScenarioError) as error:
        implementations.refuse_wrong(folder=tmp_path)
    told = [(problem.field, problem.allowed) for problem in error.value.problems]
    assert [field for field, _ in told] == ["roles", "transport", "licence", "source", "version_command"]
    assert told[1] == ("transport", "tcp, utp, udp (the protocol of its packets)")


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("kind: kernel", "kind: found 'kernel'; allowed: kernel-tcp, program (did you mean kernel-tcp?)"),
        ("kind: kernel-tcp", "congestion_control: missing; allowed: a value"),
        ("family: Ledbat", "family: found 'Ledbat'; allowed: Reno, CUBIC"),
        ("famliy: LEDBAT", "famliy: unknown field; allowed: title, extends"),
        ("speed: fast", "speed: found 'fast'; allowed: a number"),
    ],
)
def test_a_broken_implementation_file_is_told(tmp_path: Path, field: str, told: str) -> None:
    folder = tmp_path / "tcp-new"
    folder.mkdir()
    (folder / "implementation.yaml").write_text(f"title: New\n{field}\n")
    with pytest.raises(ScenarioError) as caught:
        implementations.refuse_wrong(folder=tmp_path)
    assert told in str(caught.value)


def test_an_implementation_may_extend_another(tmp_path: Path) -> None:
    known = implementations.known()
    surrogate, base = known["libutp-beta1"], known["libutp"]
    assert surrogate["parameters"]["receive_buffer"]["default"] == "41460B"
    assert surrogate["parameters"]["target"] == base["parameters"]["target"]
    assert "urrogate" in surrogate["title"]


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ({"a": "b", "b": "a"}, r"b/implementation\.yaml:1: extends: found 'a', which extends this one in the end"),
        ({"a": "a"}, r"a/implementation\.yaml:1: extends: found 'a', which extends this one"),
        ({"toy": "tpy"}, r"extends: found 'tpy'; allowed: nothing"),
    ],
)
def test_what_is_extended_must_exist_and_end(tmp_path: Path, bases: dict[str, str], message: str) -> None:
    for name, base in bases.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "implementation.yaml").write_text(f"extends: {base}\n")
    with pytest.raises(ScenarioError, match=message):
        implementations.refuse_wrong(folder=tmp_path)


def test_a_clients_file_is_as_long_as_the_path_can_carry(tmp_path: Path) -> None:
    """64 MB at least, 150 MB at most; 64 MB where several have one, since all are in the guest's memory."""
    text = (
        "experiment: files\ntitle: Files\ntopology: {name: dumbbell, pairs: 2}\n"
        "bottleneck: {rate: RATE, buffer: 100p}\ndelay: {forward: 25ms, backward: 25ms}\nduration: 100s\nflows:\n"
        "  - {name: one, implementation: qbittorrent, from: s1, to: d1PARAMS}\n"
    )
    second = "  - {name: two, implementation: transmission-4, from: s2, to: d2, start: 20s}\n"

    def lengths(rate: str, params: str = "", more: str = "") -> list[int]:
        file = tmp_path / "files.yaml"
        file.write_text(text.replace("RATE", rate).replace("PARAMS", params) + more)
        (cell,) = expand(file, "complete")
        return [flow["params"]["payload_bytes"] for flow in resolve(cell, 1)["flows"]]

    assert lengths("1mbit") == [64_000_000]
    assert lengths("8mbit") == [100_000_000]
    assert lengths("100mbit") == [150_000_000]
    assert lengths("8mbit", ", params: {payload: 20MB}") == [20_000_000]
    assert lengths("8mbit", more=second) == [64_000_000, 64_000_000]
    assert lengths("8mbit", more="events: [{at: 50s, on: bottleneck, rate: 10mbit}]\n") == [125_000_000]


def test_a_root_of_its_own_does_not_lose_inherited_packages_without_a_word(tmp_path: Path) -> None:
    """`extends` and `root` together: the packages are listed anew, or refused."""
    common = (
        "title: One\nkind: program\nroles: [sender]\ntransport: utp\nlicence: MIT\nsource: here\nversion_command: [a]\n"
    )
    for name, text in {
        "base": common + "root: {suite: trixie, packages: [python3, nodejs]}\n",
        "other": "extends: base\nroot: {suite: bookworm}\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "implementation.yaml").write_text(text)
    sentence = (
        r"other/implementation\.yaml:2: root\.packages: missing; a root of its own has none of the packages of base"
    )
    with pytest.raises(ScenarioError, match=sentence + r"; allowed: what of python3, nodejs this root needs, or \[\]"):
        implementations.refuse_wrong(folder=tmp_path)
    (tmp_path / "other/implementation.yaml").write_text("extends: base\nroot: {suite: bookworm, packages: [python3]}\n")
    assert implementations.known(tmp_path)["other"]["root"] == {"suite": "bookworm", "packages": ["python3"]}


def test_versions_are_implementations(tmp_path: Path) -> None:
    """They differ in what they fetch, or are another folder; who extends the lister has none of them."""
    common = (
        "title: One\nkind: program\nroles: [sender]\ntransport: utp\nlicence: MIT\nsource: here\nversion_command: [a]\n"
    )
    package = "{registry: npm, package: one, version: 1.0.0, sha256: " + "a" * 64 + "}"
    for name, text in {
        "old": common,
        "one": f"{common}versions:\n  '0.9': {{implementation: old}}\n  '1.0': {{fetch: [{package}]}}\n  '1.1': {{}}\n",
        "two": "extends: one\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "implementation.yaml").write_text(text)
    assert implementations.versions(tmp_path) == {"one": {"0.9": "old", "1.0": "one@1.0", "1.1": "one@1.1"}}
    known = implementations.known(tmp_path)
    assert known.keys() == {"old", "one", "one@1.0", "one@1.1", "two"}
    assert [len(known[name]["fetch"]) for name in ("one@1.0", "one@1.1")] == [1, 0]
    assert known["one@1.0"]["title"] == "One, version 1.0"
    (tmp_path / "two/implementation.yaml").write_text("extends: one\nversions: {a: {implementation: on}}\n")
    sentence = r"two/implementation\.yaml:2: versions\.a\.implementation: found 'on'; allowed: .*did you mean one"
    with pytest.raises(ScenarioError, match=sentence):
        implementations.refuse_wrong(folder=tmp_path)


@pytest.mark.parametrize(("client", "size", "memory_mib"), [("transmission-4", "1MB", 640), ("libutp", "1MB", 512)])
def test_a_guest_has_memory_for_its_clients(tmp_path: Path, client: str, size: str, memory_mib: int) -> None:
    """Twelve Transmissions with their Pythons and files take half of a standard guest; twelve libutp do not."""
    source = yaml.safe_load((STUDIES / "today" / "swarm-clients-choices.yaml").read_text())
    source["matrix"] = {"client": [client], "size": [size]}
    file = tmp_path / "study" / "swarm.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(source | {"experiment": "study-swarm"}, sort_keys=False))
    [cell] = expand(file, "complete")
    assert resolve(cell, 1)["sizes"]["memory_mib"] == memory_mib


def test_a_slip_among_many_names_is_recognized() -> None:
    said = choices([f"name-{number}" for number in range(101)], "nmae-7")
    assert said.startswith("one of 101 (did you mean name-7?), such as name-7, name-")
    assert len(said) < 200


def test_a_program_that_cannot_talk_over_ipv6_is_refused_by_name(scenario: Any) -> None:
    flow = "{name: client, implementation: transmission, from: s1, to: d1}"
    with pytest.raises(ScenarioError) as refused:
        expand(with_flow(scenario("ip: 6\n"), flow), "complete")
    says = "flows[0].implementation: found 'transmission', which cannot talk over IPv6; allowed: with ip 6, all of kind"
    assert says in str(refused.value)
    assert expand(with_flow(scenario("ip: 4\n"), flow), "complete")
