"""Names of cells are written and taken apart in one place, and both ways give the same."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios import schema
from scenarios.cell_names import name_of, values_of, without, written

# as the schema of scenarios has them
VALUES = schema.load_schema("scenario")["properties"]["matrix"]["patternProperties"]["^[a-z][a-z0-9_]*$"]["items"]
NAMES = st.from_regex(r"\A[a-z][a-z0-9_]*\Z")
TEXTS = st.from_regex(VALUES["pattern"].replace("^", r"\A").replace("$", r"\Z"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, st.one_of(TEXTS, st.integers(), st.booleans()), max_size=4))
def test_a_name_has_the_values_of_its_cell(values: dict[str, object]) -> None:
    assert values_of(name_of(values)) == {name: written(value) for name, value in values.items()}
    for name in values:
        assert values_of(without(name_of(values), name)) == {
            other: written(value) for other, value in values.items() if other != name
        }
