"""Foreign input: captures, scenarios and names that were made to do harm."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.capture import pcap
from analysis.documents import Fields, read_json
from analysis.errors import BadInputError
from analysis.figures import page
from common.archives import ArchiveError, parse_json
from scenarios.errors import ScenarioError
from scenarios.resolve import expand
from testbed.cli import main
from tests.trust.conftest import SHORT
from tests.workflows.conftest import pipeline, small  # noqa: F401  fixtures


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    head=st.sampled_from([b"", b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"]),
    rest=st.binary(max_size=300),
)
def test_any_file_is_a_capture_or_is_refused(tmp_path: Path, head: bytes, rest: bytes) -> None:
    file = tmp_path / "any.pcap"
    file.write_bytes(head + rest)
    try:
        packets, _ = pcap.read(file)
        assert len(packets) <= len(rest) // 16
    except BadInputError as error:
        assert str(file) in str(error)


FOUND = {
    "an unprintable character": (SHORT + "\x0f", r"1: .*no YAML: an unprintable character"),
    "an explicit tag": (
        SHORT.replace("1s", "!!python/object:os.system 1s"),
        r"8: duration: a value with the tag tag:y",
    ),
    "a number that is none": (SHORT.replace("1s", "!!int ''"), r"8: duration: a value with the tag tag:yaml.*int"),
    "a tag that makes a text no number": (SHORT.replace("1s", "!!float nan"), r"8: duration: a value with the tag"),
    "a tag of a quoted text": (SHORT.replace("1s", "!!float '.inf'"), r"8: duration: a value with the tag"),
    "a number beyond all": (
        SHORT.replace("1s", "1.0e400"),
        r"8: duration: found '1.0e400'; allowed: a value of float",
    ),
    "a number that others read as octal": (
        SHORT + "seeds: {complete: 010}\n",
        r"seeds.complete: found '010'; allowed: ",
    ),
    "a number without end": (
        SHORT.replace("1s", "9" * 5000),
        r"8: duration: found '9{50}\.\.\.'; allowed: a value of int",
    ),
    "a field that is a list": (SHORT + "? [a, b]\n: c\n", r"a field whose name is no text"),
    "an alias": (SHORT + "a: &a [*a]\n", r"no YAML in 'a: &a \[\*a\]': aliases are not allowed here"),
    "deep nesting": (SHORT + "a: " + "[" * 500, r"1: \(whole file\): nested too deeply"),
    "a large file": (SHORT + "#" * (1 << 20), r"too large; allowed: 1048576 bytes at most"),
    "a hundred thousand fields": (
        SHORT + "".join(f"k{n}: 1\n" for n in range(100_000)),
        r"too many of them; allowed: 20000",
    ),
    "thousands of unknown fields": (SHORT + "".join(f"k{n}: 1\n" for n in range(9000)), r"k0: unknown field"),
    "thousands of cells, none different": (SHORT + f"matrix: {{x: {list(range(17_000))}}}\n", r"matrix.x: not used"),
    "thousands of cells, all wrong": (
        SHORT.replace("1s", "${x}") + f"matrix: {{x: {[*range(17_000)]}}}\n",
        r"duration: found 0, a number without a unit",
    ),
    "a name that nobody knows, often": (
        SHORT.replace("One TCP flow for a second", "'" + "${x}" * 200_000 + "'"),
        r"title: unknown name \$\{x\}",
    ),
    "a number for a list of names": (SHORT + "paired: 1\n", r"paired: found 1; allowed: a list"),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_fuzzing_found_is_refused_with_its_place(tmp_path: Path, what: str) -> None:
    text, words = FOUND[what]
    file = tmp_path / "trial.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=re.escape(str(file)) + ":" + f".*{words}") as refused:
        expand(file, "complete")
    assert len(str(refused.value)) < 20_000


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "9" * 5000])
def test_json_has_no_number_that_is_none(tmp_path: Path, number: str) -> None:
    """Neither that of an archive or a hand-in, nor that of results."""
    text = f'{{"a": [{number}]}}'
    with pytest.raises(ArchiveError, match="found no JSON"):
        parse_json(text.encode(), "run.json")
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError, match=r"run.json: .*(not a finite number|digits)"):
        read_json(tmp_path / "run.json")


SMALL: list[dict[str, int]] = [{}, {"one": 1}, {"one": 3, "two": 2}]
ENDLESS = [{"one": 300, "two": 300}, {"one": 99, "two": 99, "three": 99}, {"one": 2, "two": 900, "three": 900}]


@settings(max_examples=30, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    matrix=st.sampled_from(SMALL + ENDLESS),
    cases=st.sampled_from([0, 1, 3]),
    seeds=st.sampled_from([1, 7, 33_334, 100_000, 100_001, 10**30]),
    minutes=st.sampled_from(["1", "1440", "1441", "60000000", "9" * 5000]),
)
def test_what_would_take_for_ever_is_refused_at_once(
    tmp_path: Path, matrix: dict[str, int], cases: int, seeds: int, minutes: str
) -> None:
    """The cells are there within two seconds, or a line for each thing that is too much."""
    text = SHORT.replace("title: One", f"title: {''.join(f'${{{name}}}' for name in matrix)} One")
    text = text.replace("duration: 1s", f"duration: {minutes}min") + f"seeds: {{complete: {seeds}}}\n"
    values = {name: [f"v{number}" for number in range(length)] for name, length in matrix.items()}
    text += yaml.safe_dump({"matrix": values, "cases": {f"c{number}": {} for number in range(cases)}})
    file = tmp_path / "trial.yaml"
    file.write_text(text)
    count = math.prod(matrix.values()) * max(1, cases)
    too_long = len(minutes) > 4 or int(minutes) > 1440
    too_many = seeds > 100_000 or (count * seeds > 100_000 and not too_long)  # what has no cell has no runs
    refused = {"duration"} if too_long else set()
    refused |= {"seeds.complete"} if too_many else set()
    refused = {"matrix"} if matrix in ENDLESS else refused
    try:
        assert len(expand(file, "complete")) == count
    except ScenarioError as error:
        assert {problem.field for problem in error.problems} == refused
        assert all(str(problem).startswith(f"{file}:{problem.line}: ") for problem in error.problems)
        assert len(str(error)) < 1_000
    else:
        assert not refused


def test_drawn_events_without_end_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "trial.yaml"
    drawn = "drawn_events: [{at: 0s, mean_gap: 10ms, on: path, delay: {base: 1ms, mean_extra: 1ms}}]\n"
    file.write_text(SHORT.replace("duration: 1s", "duration: 1440min") + drawn)
    with pytest.raises(ScenarioError, match=r":11: drawn_events\[0\]\.mean_gap: found '10ms', about 8640000 events in"):
        expand(file, "complete")


@pytest.mark.parametrize("name", ["$(touch pwned)", "<script>", "../../x", "'", "{x}", "a\nb"])
@pytest.mark.parametrize(
    "place",
    ["experiment: short", "name: tcp, ", "implementation: tcp-reno", "from: s1", "title: One TCP flow for a second"],
    ids=str,
)
def test_names_that_are_none_are_refused(tmp_path: Path, place: str, name: str) -> None:
    """Where names become folders, arguments or pages; a title may be anything."""
    file = tmp_path / "trial.yaml"
    field, _ = place.split(": ")
    file.write_text(SHORT.replace(place, f"{field}: '{name.replace(chr(39), chr(39) * 2)}'{', ' * place.count(',')}"))
    if field == "title":
        expand(file, "complete")
        return
    with pytest.raises(ScenarioError):
        expand(file, "complete")


@pytest.mark.parametrize("name", ["$(touch pwned)", "../x", "{x}"])
def test_cells_have_names_that_folders_may_have(tmp_path: Path, name: str) -> None:
    file = tmp_path / "trial.yaml"
    file.write_text(SHORT + f"cases: {{'{name}': {{}}}}\n")
    with pytest.raises(ScenarioError, match="cases"):
        expand(file, "complete")


def test_names_of_files_do_not_reach_a_shell(small: Any) -> None:  # noqa: F811
    study = small.folder / "workflows/studies/toy"
    name = "it's $(touch pwned) `touch pwned`; touch pwned;"
    for ending in (".yaml", ".claims.yaml"):
        (study / f"one{ending}").rename(study / f"{name}{ending}")
    small("toy-one")
    assert small.done_seeds() == ["toy-one/single/seed-1", "toy-one/single/seed-2", "toy-one/single/seed-3"]
    assert not list(small.folder.rglob("pwned"))


@pytest.mark.parametrize("name", ["$(touch pwned)", "../studies/toy"])
def test_studies_have_names_that_folders_may_have(small: Any, name: str) -> None:  # noqa: F811
    (small.folder / "workflows/config.yaml").write_text(f"studies: ['{name}']\n")
    assert "does not match" in small("--dry-run", code=1)
    assert not list(small.folder.rglob("pwned"))


def test_a_title_cannot_leave_its_page() -> None:
    attack = "</script><script>alert(1)</script><!--<script>"
    layout = {"title": attack}
    experiment = Fields(Path("claims.yaml"), {"id": attack, "title": attack})
    text = page.interactive({356: layout, 1200: layout}, experiment, attack, attack)
    assert text.count("<script") == 2  # the viewer's and the figure's own
    assert "alert(1)</" not in text


def test_what_a_guest_says_cannot_move_a_terminals_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from engine.errors import EngineError
    from testbed import run

    def fail(*_: object) -> None:
        raise EngineError("\x1b[2J\x07 erased")

    file = tmp_path / "trial.yaml"
    file.write_text(SHORT)
    monkeypatch.setattr(run, "execute", fail)
    assert main(["run", str(file), "--seed", "1", "--into", str(tmp_path)]) == 1
    assert "\x1b" not in (told := capsys.readouterr().err) and "erased" in told
