"""Which implementations understand each other, in Markdown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_lowercase

from analysis.judge.verdict import SIGNS, Verdict
from testbed.interop.judge import FILE, FORMAT, Result
from testbed.shared import listed
from testbed.shared.formats import read_of_format


def tables(folders: Sequence[Path]) -> str:
    """Return tables, in Markdown, of what has been judged in `folders`."""
    documents = (read_of_format(folder, FILE, FORMAT).data for folder in folders)
    return "".join(f"{table}\n" for document in documents for table in _tables(document))


def _tables(document: Result) -> list[str]:
    """Tables in Markdown: of all pairs, with a letter for each case that failed, and of all scripts."""
    names, tables = document["implementations"], []
    letters = dict(zip(document["cases"], ascii_lowercase, strict=False))
    results = {(result["sender"], result["receiver"], result["case"]): result for result in document["results"]}

    def cases(sender: str, receiver: str) -> str:
        run = {case: results[sender, receiver, case] for case in letters}
        run = {case: Verdict(result["verdict"]) for case, result in run.items() if result["verdict"] != Verdict.OPEN}
        text = SIGNS[next(iter(run.values()))] if len(set(run.values())) == 1 else ""
        text = text or " ".join(letters[case] for case, verdict in run.items() if verdict == Verdict.FAILS)
        return text if len(run) == len(letters) or text == SIGNS[Verdict.FAILS] else f"{text} {SIGNS[Verdict.OPEN]}"

    if letters:
        text = ", ".join(f"{letter} `{case}`" for case, letter in letters.items())
        rows = {f"{number} `{name}`": name for number, name in enumerate(names, 1)}
        tables.append(f"Failed: {text}.\n\n{_table(rows, names, cases)}")
    if document["scripts"]:
        met = {
            (result["script"], result["implementation"]): Verdict(result["verdict"]) for result in document["scripted"]
        }
        lines = [f"| script | {listed.HEAD} |", listed.RULE]
        for script in document["scripts"]:
            lines.append(f"| `{script}` | {listed.cells([met[script, name] for name in names])} |")
        tables.append("\n".join(lines) + "\n")
    return tables


def _table(rows: dict[str, str], columns: Sequence[str], cell: Callable[[str, str], str]) -> str:
    numbers = "".join(f" {number} |" for number in range(1, len(columns) + 1))
    lines = [f"| sender |{numbers}", "|---" * (1 + len(columns)) + "|"]
    lines += [f"| {head} |" + "".join(f" {cell(row, column)} |" for column in columns) for head, row in rows.items()]
    return "\n".join(lines) + "\n"
