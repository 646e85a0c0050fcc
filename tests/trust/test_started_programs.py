"""Every program that own code starts is listed in calls.yaml, with the reason why its arguments are safe."""

import ast
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LISTED = yaml.safe_load(Path(__file__).with_name("calls.yaml").read_text())
CODE = sorted(
    file
    for folder in ("analysis", "common", "engine", "exec", "images", "scenarios", "testbed", "topologies")
    for file in (ROOT / folder).rglob("*.py")
    if not file.is_relative_to(ROOT / "images" / "implementations")  # these run in a guest, as what is under test
)
RULES = sorted([ROOT / "Snakefile", *ROOT.glob("workflows/**/*.smk"), *ROOT.glob("workflows/**/Snakefile")])
IN_GUESTS = ("tests/", "images/implementations/")
STARTS = {
    "subprocess": r"run|Popen|call|check_call|check_output|getoutput|getstatusoutput",
    "os": r"system|popen|exec.*|spawn.*|posix_spawnp?|startfile",
    "pty": r"spawn|fork",
    "asyncio": r"create_subprocess_.*",
}
NEVER = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput")}
HELPERS = {"asked", "logged", "_apt_get", "_apt_cache", "spawn"}
"""Own functions that start what their callers say: these are listed, too."""


def named(node: ast.AST) -> tuple[str, str] | None:
    """The module and the name of an attribute such as `subprocess.run`."""
    return (node.value.id, node.attr) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else None


def starts(node: ast.AST) -> bool:
    """Whether a program is started here, or a function that starts one is handed on."""
    if isinstance(node, ast.Call) and (called := getattr(node.func, "attr", getattr(node.func, "id", ""))) in HELPERS:
        return named(node.func) != ("pty", called)
    module, name = named(node) or ("", "")
    return module in STARTS and re.fullmatch(STARTS[module], name) is not None


def scripts() -> set[str]:
    """Files that start with the name of their interpreter, apart from Python's, tests and what runs under test."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = (name for name in files.stdout.split("\0") if name and not name.startswith(IN_GUESTS))
    heads = {name: (ROOT / name).read_bytes()[:80].partition(b"\n")[0] for name in names if (ROOT / name).is_file()}
    return {name for name, head in heads.items() if head.startswith(b"#!") and b"python" not in head}


def test_every_script_is_listed_and_reads_no_text_as_a_command() -> None:
    assert scripts() == LISTED["scripts"].keys(), "tests/trust/calls.yaml lists scripts with what reaches them"
    for name in scripts():
        text = re.sub(r"^\s*#.*$", "", (ROOT / name).read_text(), flags=re.MULTILINE)
        assert not re.search(r"\beval\b|\bsh -[a-z]*c \"", text), name


def walked(node: ast.AST, place: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node but annotations, with the names of the classes and functions around it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        place = f"{place}.{node.name}".lstrip(".")
    yield place, node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                yield from walked(child, place)


def calls() -> set[str]:
    """`file: function` of each place that starts a program."""
    return {
        f"{file.relative_to(ROOT)}: {place or '(module)'}"
        for file in CODE
        for place, node in walked(ast.parse(file.read_text()))
        if starts(node)
    }


def test_every_call_of_a_program_is_listed_with_its_reason() -> None:
    reasons = {f"{file}: {place}": why for file, places in LISTED["calls"].items() for place, why in places.items()}
    assert calls() - set(reasons) == set(), "add it to tests/trust/calls.yaml, with the reason why it is safe"
    assert set(reasons) - calls() == set(), "tests/trust/calls.yaml lists what is not there any more"
    assert all(isinstance(why, str) and len(why) > 10 for why in reasons.values())


def test_no_call_is_hidden_by_the_form_of_its_import() -> None:
    for file in CODE:
        for _, node in walked(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in STARTS:
                assert not [name.name for name in node.names if re.fullmatch(STARTS[node.module], name.name)], file
            if isinstance(node, ast.Import):
                assert not [name.name for name in node.names if name.name in STARTS and name.asname], file


def test_no_shell_reads_what_was_put_together_and_no_python_the_working_folder() -> None:
    for file in CODE:
        for _, node in walked(ast.parse(file.read_text())):
            where = f"{file}:{getattr(node, 'lineno', 0)}"
            assert named(node) not in NEVER, where
            assert not (isinstance(node, ast.keyword) and node.arg == "shell"), where
            for word, following in pairwise(node.elts if isinstance(node, ast.List | ast.Tuple) else []):
                option = word.value if isinstance(word, ast.Constant) else None
                script = isinstance(option, str) and re.fullmatch("-[elux]*c", option)
                assert not (script and isinstance(following, ast.JoinedStr)), where
                module = isinstance(following, ast.Constant) and following.value == "-m"
                assert not (named(word) == ("sys", "executable") and module), f"{where}: -P must stand before -m"


def test_rules_quote_what_they_hand_to_a_shell() -> None:
    for file in RULES:
        text = file.read_text()
        shells = re.findall(r"^ +shell:\n((?: +\".*\"\n)+)", text, re.MULTILINE)
        shells += re.findall(r"shell\(\s*(.*)\s*\)", text)
        assert len(shells) == len(re.findall(r"\bshell[(:]", text)), f"{file}: a form that this test does not read"
        fields = {field for shell in shells for field in re.findall(r"(?<!{){([^{}]+)}", shell)}
        unquoted = {field for field in fields if not field.endswith(":q")}
        assert unquoted <= LISTED["unquoted"].keys(), f"{file}: write {{FIELD:q}}"
