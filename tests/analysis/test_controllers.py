"""What the observer is judged by: every sender is known, and the rules have not seen the networks."""

from pathlib import Path

from analysis.observer.judgement import SenderKind
from scenarios import implementations
from scenarios.resolve import Cell, expand
from tests.tools.controllers.__main__ import CASES
from tests.tools.controllers.draw import NETWORKS, drawn
from tests.tools.controllers.judge import DERIVED, read

SCENARIOS = sorted(file.name for file in CASES.glob("*.yaml"))


def cells(name: str) -> list[Cell]:
    return expand(CASES / name, "complete")


def test_the_truth_says_what_every_sender_is() -> None:
    truth = read()
    named = truth.implementations
    assert {kind for kind, _ in (*truth.families.values(), *named.values())} == {kind.value for kind in SenderKind}
    known = implementations.known()
    assert named.keys() | {*truth.not_judged} <= known.keys()
    assert not any(family == "QUIC" for family in truth.families)
    chosen = [cell for name in SCENARIOS for cell in cells(name)]
    sending = {flow["implementation"] for cell in chosen for flow in cell.settings["flows"]}
    told = {name for name in sending if name in named or known[name]["family"] in truth.families}
    assert sending - told == {"udp-cbr"}


def test_what_was_drawn_is_the_same_again_and_every_control_is_known(tmp_path: Path) -> None:
    file = tmp_path / "drawn.yaml"
    file.write_text(drawn(1))
    assert drawn(1) == file.read_text() != drawn(2)
    flows = [flow for cell in expand(file, "complete") for flow in cell.settings["flows"]]
    truth, known = read(), implementations.known()
    under_test = [flow for flow in flows if flow["name"] == "it"]
    assert len(under_test) == NETWORKS
    for flow in under_test:
        name = flow["implementation"]
        told = truth.controls if "control" in flow["params"] else truth.implementations | truth.families
        assert {name, known[name]["family"], flow["params"].get("control")} & told.keys(), name


def test_no_network_is_judged_from_which_something_was_derived() -> None:
    def networks(name: str) -> set[str]:
        fields = ("bottleneck", "delay", "events")
        return {repr([cell.settings[field] for field in fields]) for cell in cells(name)}

    derived = [name for name in SCENARIOS if name.startswith(DERIVED)]
    assert len(derived) == 8
    for name in set(SCENARIOS) - set(derived):
        assert not any(networks(name) & networks(other) for other in derived)
