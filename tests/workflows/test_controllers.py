"""What the observer is judged by: every sender is known, and the rules have not seen the networks."""

import yaml

from analysis.observer.kind import Kind
from scenarios import implementations
from scenarios.resolve import Cell, expand
from tests.tools.controllers.__main__ import CASES
from tests.tools.controllers.judge import DERIVED, TRUTH, by_name

SCENARIOS = sorted(file.name for file in CASES.glob("*.yaml"))


def cells(name: str) -> list[Cell]:
    return expand(CASES / name, "full")


def test_the_truth_says_what_every_sender_is() -> None:
    families, named = (by_name(part) for part in yaml.safe_load(TRUTH.read_text()).values())
    assert {kind for kind, _ in (*families.values(), *named.values())} == {kind.value for kind in Kind}
    known = implementations.known()
    assert named.keys() <= known.keys()
    sending = {flow["implementation"] for name in SCENARIOS for cell in cells(name) for flow in cell.settings["flows"]}
    told = {name for name in sending if name in named or known[name]["family"] in families}
    assert sending - told == {"udp-cbr"}


def test_no_network_is_judged_from_which_something_was_derived() -> None:
    def networks(name: str) -> set[str]:
        fields = ("bottleneck", "delay", "events")
        return {repr([cell.settings[field] for field in fields]) for cell in cells(name)}

    derived = [name for name in SCENARIOS if name.startswith(DERIVED)]
    assert len(derived) == 7
    for name in set(SCENARIOS) - set(derived):
        assert not any(networks(name) & networks(other) for other in derived)
