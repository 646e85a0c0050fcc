"""`testbed kinds`: what its scenarios send is known, and the rules have not seen what they are judged by."""

import yaml

from analysis.kinds import DERIVED, _by_name
from analysis.observer.kind import Kind
from scenarios import implementations
from scenarios.resolve import Cell, expand
from testbed.kinds import SCENARIOS, SNAKEFILE

FOLDER = SNAKEFILE.parent


def cells(name: str) -> list[Cell]:
    return expand(FOLDER / name, "full")


def test_the_truth_says_what_every_sender_is() -> None:
    families, named = (_by_name(part) for part in yaml.safe_load((FOLDER / "truth.yaml").read_text()).values())
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
    assert len(derived) == 6
    for name in set(SCENARIOS) - set(derived):
        assert not any(networks(name) & networks(other) for other in derived)
