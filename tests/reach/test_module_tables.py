"""The tables of docs/module.md are what their runs give; some minutes."""

import pytest

from tests.tcp_ledbat import tables


@pytest.fixture(scope="module")
def page() -> str:
    """The page as it is."""
    return tables.PAGE.read_text()


def test_alone_it_is_as_fast_as_cubic(page: str) -> None:
    paths = tables.rates()
    assert tables.between(page, "rates")[1] == tables.table_of_rates(paths)
    for path in paths.values():
        cubic_bps = path["cubic"].bps
        assert path["ledbat-slow-start"].bps > 0.95 * cubic_bps, path
        assert path["ledbatpp"].between_slowdowns_bps > 0.99 * cubic_bps, path
        assert path["ledbatpp"].bps > 0.9 * cubic_bps, path  # slowdowns take a tenth of its time at most
        assert path["ledbat-slow-start"].queue_ms < 100, path
        assert path["ledbatpp"].queue_ms < 60, path


def test_it_yields_whatever_clocks_the_hosts_have(page: str) -> None:
    found = tables.shares()
    assert tables.between(page, "clocks")[1] == tables.table_of_clocks(found)
    for by_control in found.values():
        for control, share in by_control.items():
            assert share < 1.5 * found["us-us"][control] + 0.02, found
