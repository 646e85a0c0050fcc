"""Converts scripts for Python 2: `testbed exec --python2`."""

import ast
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fissix.pgen2.parse import ParseError
from fissix.pgen2.tokenize import TokenError
from fissix.refactor import RefactoringTool, get_fixers_from_package

from engine.errors import printable
from exec.copies import copy_of

_PIPES = Path(__file__).with_name("python2_pipes.py")
_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)


@contextmanager
def converted(folder: Path) -> Iterator[Path]:
    """Yield a copy of a folder, with each *.py as fissix converts it. EngineError: the folder is too large.

    A file that is neither Python 2 nor Python 3 is named and stays as it is, since it may never run.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-python2-") as place:
        copy = Path(place, "copy")
        copy_of(folder, copy)
        for path in sorted(copy.rglob("*.py")):
            try:
                text = _converted(path, path.relative_to(copy))
            except (ParseError, TokenError) as error:
                what, _, _ = str(error).partition(", context=")
                told = f"{path.relative_to(copy)}: is neither Python 2 nor Python 3, and stays as it is ({what})"
                print(printable(told), file=sys.stderr)
                continue
            path.write_text(_with_text_in_pipes(text))
            shutil.copy(_PIPES, path.parent)
        yield copy


def _converted(path: Path, name: Path) -> str:
    # Python 2 took a tab for eight columns wherever it met one
    text = _INDENTATION.sub(lambda tabs: tabs[0].expandtabs(8), path.read_text(errors="replace"))
    return str(_tool(_is_python_3(text)).refactor_string(f"{text}\n", str(name)))


def _with_text_in_pipes(text: str) -> str:
    """Import `exec.python2_pipes` before all other modules, unless the file decodes what it reads by itself."""
    if ".decode(" in text or not _is_python_3(text):
        return text
    imports = (node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom))
    line = next((node.lineno for node in imports if getattr(node, "module", None) != "__future__"), None)
    if line is None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join((*lines[: line - 1], f"import {_PIPES.stem}\n", *lines[line - 1 :]))


def _is_python_3(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@cache
def _tool(prints_by_function: bool) -> RefactoringTool:
    """What converts; a file that Python 3 reads may still ask for what only Python 2 has, but prints by a function."""
    fixers = get_fixers_from_package("fissix.fixes")
    fixers.remove("fissix.fixes.fix_import")  # a module beside a script is no part of a package
    if prints_by_function:
        fixers.remove("fissix.fixes.fix_print")
    return RefactoringTool(fixers, {"print_function": prints_by_function})
