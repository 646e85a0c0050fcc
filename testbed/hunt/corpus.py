"""A corpus: the scenarios with which a hunt begins, before it searches."""

from dataclasses import replace
from pathlib import Path

import yaml

from scenarios import load, schema, tables, variation
from scenarios.errors import ScenarioError
from testbed.hunt import arena
from testbed.hunt.arena import Arena
from testbed.shared.panel import CLIENT


def read(file: Path, client: str) -> list[Arena]:
    """Read a scenario as `testbed compare` takes it; each case becomes an arena of one point, titled as the case.

    Raises:
        ScenarioError: it names line and field of all that is wrong, a range or a choice included.
    """
    root = tables.spread(file, load.read_nodes(file))
    document = load.document(file, root)
    variation.check_variation(document, schema.load_schema("scenario"), [CLIENT])
    wrong = [
        document.problem(("matrix", axis), "has no place in a corpus", f"{CLIENT}, and cases")
        for axis in document.data.get("matrix", {})
        if axis != CLIENT
    ]
    if wrong:
        raise ScenarioError(wrong)
    fields = [(name, value) for name, value in root.value if name.value != "matrix"]
    bare = yaml.MappingNode(root.tag, fields, root.start_mark, root.end_mark)
    places = []
    for values, node in variation.points(bare):
        case = load.document(file, node)
        titled = replace(case, data={**case.data, "title": values.get("case", case.data["title"])})
        place = arena.checked(titled, client, "a corpus", "one value of each field, and cases")
        wrong += [case.problem(knob.path, "has several values", "one value") for knob in place.knobs]
        places.append(place)
    if wrong:
        raise ScenarioError(list(dict.fromkeys(wrong)))
    return places
