"""docs/reference/scenarios.md lists the fields that the schema has; what it and the README show as examples works."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from analysis.claims import registry, vocabulary
from analysis.judge.verdict import Verdict
from analysis.run import Run
from analysis.series import Instants, Series
from images.locked import read_any
from scenarios import scenario_files
from scenarios.cells import plan
from scenarios.load import read
from scenarios.resolve import expand
from scenarios.schema import load_schema
from scenarios.units import QUANTITIES

ROOT = Path(__file__).parents[2]
SCHEMAS = [file for place in ("scenarios", "analysis/claims", "workflows") for file in (ROOT / place).glob("schemas/*")]
PAGE = ROOT / "docs" / "reference" / "scenarios.md"
CLAIMS = ROOT / "docs" / "reference" / "claims.md"
TERMS = ROOT / "docs" / "reference" / "terms.md"
README = ROOT / "README.md"
PAPERS = ("aina", "eunice", "icccn", "pam")
KINDS = {
    "string": "text",
    "boolean": "true or false",
    "number": "number",
    "integer": "whole number",
    "array": "list",
    "object": "fields",
}


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs/index.md").read_text()
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def rows(schema: Any, root: Any, prefix: str = "") -> Iterator[str]:
    """A row for each field, those of lists and mappings after their own. A link has a table of its own."""
    for name, field in schema.get("properties", {}).items():
        if "$ref" in field and not is_link(field):
            field = {**root["$defs"][field["$ref"].rpartition("/")[2]], **field}
        required = name in schema.get("required", [])
        default = "; required" if required else f"; default `{shown(field['default'])}`" if field.get("default") else ""
        meaning = field.get("description", "").replace("|", "\\|")
        of_directions = both_ways(field, root)
        yield f"| `{prefix}{name}` | {of_directions or kind(field)}{default} | {meaning} |"
        if not of_directions:
            yield from rows(field, root, f"{prefix}{name}.")
        yield from rows(field.get("items", {}), root, f"{prefix}{name}[].")


def both_ways(field: Any, root: Any) -> str:
    """What a field takes that has one kind of value for each direction; nothing for others."""
    parts = field.get("properties", {})
    if parts.keys() != {"forward", "backward"}:
        return ""
    resolved = [
        {**root["$defs"][part["$ref"].rpartition("/")[2]], **part} if "$ref" in part else part
        for part in parts.values()
    ]
    kinds = {kind(part) for part in resolved}
    words = "both ways" if field.get("required") else "each way"
    return f"{words}: {kinds.pop()}" if len(kinds) == 1 else ""


def is_link(field: Any) -> bool:
    return bool(field.get("$ref") == "#/$defs/link")


def kind(field: Any) -> str:
    """What a field takes, with its bounds."""
    if is_link(field):
        return "[link](#links)"
    if is_link(field.get("items", {})):
        return "list of [links](#links)"
    if "enum" in field:
        return ", ".join(f"`{shown(value)}`" for value in field["enum"])
    if "enum" in field.get("items", {}):
        return "list of " + kind(field["items"])
    types = field.get("type", [])
    words = field.get("unit") or " or ".join(KINDS[name] for name in ([types] if isinstance(types, str) else types))
    low, high = field.get("atLeast", field.get("minimum")), field.get("atMost", field.get("maximum"))
    if low is not None and high is not None:
        return f"{words}, {low} to {high}"
    return words + (f", at least {low}" if low is not None else "") + (f", at most {high}" if high is not None else "")


def shown(default: object) -> str:
    """A default as YAML writes it."""
    if isinstance(default, list):
        return f"[{', '.join(map(shown, default))}]"
    return str(default).lower() if isinstance(default, bool) else str(default)


def table(name: str, part: str) -> list[str]:
    """The rows of the table of a schema's fields, or of a link's, that a page must hold."""
    [file] = (file for file in SCHEMAS if file.name == f"{name}.schema.yaml")
    schema = read(file).data
    definition = schema["$defs"]["link"] if part == "link" else schema
    return list(rows(definition, schema))


@pytest.mark.parametrize(
    ("page", "name", "part"),
    [
        (PAGE, "scenario", "scenario"),
        (PAGE, "scenario", "link"),
        (CLAIMS, "study", "study"),
        (CLAIMS, "claims", "claims"),
    ],
)
def test_every_field_is_on_its_page(page: Path, name: str, part: str) -> None:
    pattern = rf"<!-- fields of {part} -->\n.*?\|---\|---\|---\|\n(.*?)\n<!-- end of fields of {part} "
    listed = re.search(pattern, page.read_text(), re.DOTALL)
    assert listed
    assert listed[1].splitlines() == table(name, part)


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name)
def test_schemas_of_the_project_are_valid(file: Path) -> None:
    Draft202012Validator.check_schema(read(file).data)


def test_no_comma_cuts_a_description() -> None:
    """In braces, YAML takes what follows an unquoted comma for another field, without a value."""
    schemas = [*SCHEMAS, *(ROOT / "testbed").glob("*/schema.yaml")]
    assert [(file.name, field) for file in schemas for field in empty(read(file).data)] == []


def empty(node: object) -> Iterator[str]:
    """The fields without a value, at any depth."""
    fields = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in fields:
        if value is None:
            yield str(name)
        yield from empty(value)


@pytest.mark.parametrize(("name", "kind"), [("a run", Run), ("a series", Series), ("instants", Instants)])
def test_every_word_is_on_the_page(name: str, kind: type) -> None:
    listed = re.search(
        rf"<!-- words of {name} -->\n(.*?)\n<!-- end of words of {name} -->", CLAIMS.read_text(), re.DOTALL
    )
    assert listed
    assert listed[1].splitlines() == vocabulary.table(kind).splitlines()


def test_the_terms_have_all_kinds_of_verdicts_and_of_evidence_for_causes() -> None:
    claim = load_schema("claims", registry.SCHEMAS)["properties"]["claims"]["items"]["properties"]
    for term, kinds in (("cause", claim["cause"]["properties"]["evidence"]["enum"]), ("verdict", list(Verdict))):
        [row] = re.findall(rf"^\| {term} \| .*: (.*) \|$", TERMS.read_text(), re.MULTILINE)
        assert re.split(", | or ", row) == kinds


def test_every_unit_is_on_the_page() -> None:
    for quantity in QUANTITIES.values():
        [row] = re.findall(rf"^\| {quantity.name} \| (.*?) \| `{quantity.example}` \|$", PAGE.read_text(), re.MULTILINE)
        assert re.sub(r" \(.*\)", "", row) == ", ".join(quantity.units)


def example(page: Path, folder: Path) -> Path:
    """The scenario that a page shows, as a file."""
    shown_there = re.search(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    assert shown_there
    file = folder / "example.yaml"
    file.write_text(shown_there[1])
    return file


def test_the_examples_are_scenarios(tmp_path: Path) -> None:
    file = example(PAGE, tmp_path)
    assert [cell.name for cell in expand(file, "complete")] == ["buffer=20p", "buffer=80p"]
    assert expand(example(README, tmp_path), "complete")


def test_what_a_page_shows_are_scenarios(tmp_path: Path) -> None:
    page = ROOT / "docs" / "howto" / "questions.md"
    for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        assert expand(file, "complete")


def test_the_readme_names_files_and_experiments_that_exist() -> None:
    text = README.read_text()
    for file in (*re.findall(r"\]\(([\w./-]+)\)", text), *re.findall(r"workflows/studies/[\w/-]+\.yaml", text)):
        assert (ROOT / file).exists(), file
    known = {cell["experiment"] for cell in plan(scenario_files(ROOT / "workflows/studies/icccn"), "complete")}
    assert set(re.findall(r"icccn-fig[\w-]+(?![\w.-])", text)) - known == set()


def test_pages_that_files_name_exist() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = {name: (ROOT / name).read_text(errors="replace") for name in listed if (ROOT / name).is_file()}
    named = {(page, name) for name, text in texts.items() for page in re.findall(r"\bdocs/[a-z0-9/-]+\.md", text)}
    assert {(page, name) for page, name in named if not (ROOT / page).exists()} == set()


def test_links_between_pages_lead_somewhere() -> None:
    files = (README, *ROOT.glob("C*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("images/*/README.md"))
    pages = {page: re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE) for page in files}
    wrong = []
    for page, text in pages.items():
        for link, heading in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
            file = (page.parent / link).resolve() if link else page
            headings = re.findall(r"^#+ (.*)$", pages.get(file, ""), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            if not file.exists() or (heading and heading not in anchors):
                wrong.append(f"{page.name}: {link}#{heading}")
    assert wrong == []


def test_a_page_of_results_says_at_its_top_when_its_numbers_were_recorded() -> None:
    """One page has it once for each set."""
    tops = {page.name: page.read_text().split("\n## ")[0] for page in (ROOT / "docs/results").glob("*.md")}
    says = r"^(Recorded .*\b20\d\d-\d\d-\d\d|Nothing here was recorded)"
    without = {name for name, top in tops.items() if not re.search(says, top, re.MULTILINE)}
    assert without == {"failing.md"}


def test_the_commits_that_results_name_exist() -> None:
    def git(*words: str, said: str = "") -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, input=said
        ).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the history is not there")
    pages = [*(ROOT / "docs/results").glob("*.md"), ROOT / "docs/howto/evaluate.md"]
    named = {commit for page in pages for commit in re.findall(r"`([0-9a-f]{8}|[0-9a-f]{12})`", page.read_text())}
    assert named
    answers = git("cat-file", "--batch-check", said="".join(f"{commit}\n" for commit in named)).splitlines()
    assert [answer for answer in answers if answer.split()[1] != "commit"] == []


def test_the_count_of_statements_that_hold_or_not_is_that_of_the_papers() -> None:
    papers = [file for file in (ROOT / "workflows/studies").glob("*/*.claims.yaml") if file.parent.name in PAPERS]
    claims = [claim for file in papers for claim in registry.load(file).claims]
    count = sum(claim.holds is not None and claim.counts for claim in claims)
    assert f"{count} claims of the papers are statements" in (ROOT / "docs/reference/verdicts.md").read_text()


def test_a_row_of_a_table_is_a_line_with_as_many_cells_as_the_head() -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wrong = []
    for name in listed.split():
        head = None
        # a bar in code or behind a backslash is no border of a cell
        text = re.sub(r"^```.*?^```$|`[^`\n]*`|\\\|", "", (ROOT / name).read_text(), flags=re.MULTILINE | re.DOTALL)
        for line in map(str.rstrip, text.splitlines()):
            cells = line.count("|") if line.startswith("|") else None
            if cells and (not line.endswith("|") or cells != (head or cells)):
                wrong.append(f"{name}: {line}")
            head = (head or cells) if cells else None
    assert wrong == []


def test_no_number_of_a_report_begins_a_line() -> None:
    """The site makes a heading of a line that begins with #2698; other readers of Markdown do not."""
    for file in (ROOT / "docs").rglob("*.md"):
        code = False
        for line in file.read_text().splitlines():
            code ^= line.lstrip().startswith("```")
            assert code or not re.match(r"#+[^# ]", line), f"{file}: {line}"


@pytest.mark.parametrize(
    ("asked_for", "lock", "package"),
    [
        ("nothing: it is always there", "build-packages.lock", "gcc-14"),
        ("`build_packages: [cargo]`", "implementations/utp-crate/build.lock", "rustc"),
        ("`build_packages: [cargo-web]`", "implementations/librqbit-utp/build.lock", "rustc-web"),
        ("`build_packages: [golang-go]`", "implementations/anacrolix-utp/build.lock", "golang-1.24-go"),
        ("`root: {suite: trixie, packages: [nodejs]}`", "implementations/utp-native/root.lock", "nodejs"),
    ],
)
def test_the_guide_names_the_toolchains_that_builds_have(asked_for: str, lock: str, package: str) -> None:
    table = re.findall(
        r"^\| (.+) \| .+ \| (\S+) \|$", (ROOT / "docs/howto/adding-a-client.md").read_text(), re.MULTILINE
    )
    locked = {each.name: each.upstream for each in read_any(ROOT / "images" / lock, lock).packages}
    assert dict(table)[asked_for] == locked[package]


def test_the_cluster_command_keeps_what_the_profile_asks_for() -> None:
    """Snakemake replaces a profile's default resources by those of the command line."""
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.v8+.yaml").read_text())
    said = (ROOT / "docs" / "howto" / "clusters.md").read_text()
    assert f"--default-resources {' '.join(profile['default-resources'])} slurm_partition=NAME" in said
    assert profile["quiet"] == ["host"]
