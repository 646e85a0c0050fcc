"""The tables of a real run are those of the schema, of their own metadata, and of docs/reference/tables.md."""

import json
import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.run import Run
from analysis.tables import files, of_run, page
from analysis.tables.schema import Table
from tests.analysis.listed import unlisted
from tests.trial import carried_out

PAGE = Path(__file__).parents[2] / "docs/reference/tables.md"
SCENARIO = """\
experiment: tables
title: All that a run folder may hold
topology: {name: dumbbell, pairs: 3}
bottleneck: {rate: 4mbit, buffer: 20p}
backward_bottleneck: {rate: 1mbit, buffer: 20p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: ledbat, implementation: tcp-ledbat, from: s1, to: d1, bytes: 1MB}
  - {name: utp, implementation: libutp, from: s2, to: d2}
  - {name: up, implementation: tcp-cubic, from: d3, to: s3, may_fail: true}
events:
  - {at: 2s, on: bottleneck, rate: 3mbit}
duration: 5s
captures: [bottleneck-in, bottleneck-out, sender]
keep_captures: true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, program: Callable[[str], None]) -> Path:
    program("libutp")
    return carried_out(tmp_path_factory.mktemp("tables"), SCENARIO)[0]


def test_the_page_has_the_lists_of_the_code() -> None:
    text = PAGE.read_text()
    assert page.filled(text) == text, "python -m testbed.tables columns docs/reference/tables.md"


@pytest.mark.parametrize("table", of_run.ALL, ids=lambda table: table.name)
def test_a_file_has_the_columns_of_its_table_and_says_so(folder: Path, table: Table) -> None:
    file = folder / "columns" / f"{table.name}.parquet"
    rows = pl.read_parquet(file)
    assert rows.schema == table.schema
    assert len(rows) > 0
    assert {name: text for name, text in pl.read_parquet_metadata(file).items() if name != "ARROW:schema"} == (
        table.metadata
    )
    without_null_text = [column.name for column in table.columns if not column.null]
    assert rows.select(without_null_text).null_count().transpose()["column_0"].sum() == 0


def test_addresses_flows_and_taps_are_texts_and_times_count_from_zero(folder: Path) -> None:
    packets = pl.read_parquet(folder / "columns/packets.parquet")
    ends = set(packets["src"].cast(pl.String)) | set(packets["dst"].cast(pl.String))
    assert {"10.0.1.1", "10.1.1.1"} <= ends
    assert all(ip_address(end) for end in ends)
    assert set(packets["flow"].drop_nulls().cast(pl.String)) == {"ledbat", "utp", "up"}
    data = packets.filter(pl.col("forward") & (pl.col("flow") == "utp") & (pl.col("payload_bytes") > 0))
    assert 0 < data["time_ns"].min() < 10**9  # type: ignore[operator]  # an integer
    assert data["time_ns"].max() < 6 * 10**9  # type: ignore[operator]


def test_every_file_of_a_run_is_on_the_page(folder: Path) -> None:
    assert len(unlisted(folder, [])) > 10
    assert unlisted(folder, files.OF_RUN) == []


@pytest.mark.parametrize("name", [files.RUN_JSON, files.SUMMARY])
def test_every_field_of_a_run_is_on_the_page(folder: Path, name: str) -> None:
    unlisted = [field for field in fields(json.loads((folder / name).read_text())) if not is_listed(name, field)]
    assert unlisted == []


def fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of all values that hold no others."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from fields(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from fields(inner, f"{path}[]")
    elif value not in ({}, []):
        yield path


def is_listed(name: str, path: str) -> bool:
    """Whether the first of a file's fields that is this one, or holds it, says that others stand below it."""
    for field in files.FIELDS[name]:
        # names of files and interfaces have points
        pattern = re.sub(r"\\\*$", ".+", re.escape(field.path)).replace(r"\*", r"[^.\[]+")
        if re.fullmatch(pattern, path) or (field.below and re.match(rf"{pattern}(\.|\[)", path)):
            return True
    return False


def test_every_queue_and_share_adds_up(folder: Path) -> None:
    """What the page says of the columns, in numbers that the run knows from elsewhere."""
    run = Run(folder)
    packets, queue = (
        pl.read_parquet(folder / "columns/packets.parquet"),
        pl.read_parquet(folder / "columns/queue.parquet"),
    )
    left = packets.filter((pl.col("tap") == "bottleneck-out") & pl.col("dst").cast(pl.String).str.starts_with("10.1."))
    # the queue counts IP bytes, as packets do
    assert left["ip_length"].sum() == pytest.approx(queue["sent_bytes"].max() - queue["sent_bytes"].min(), rel=0.02)  # type: ignore[operator]
    assert sum(run.share(flow) for flow in ("ledbat", "utp")) == pytest.approx(1)
    assert run.share("up") == 1
    assert run.share_over_time("up").min(0, 5) == 1
    assert run.share_over_time("ledbat").at(1) + run.share_over_time("utp").at(1) == pytest.approx(1)
