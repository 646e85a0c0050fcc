"""What became of the requirements, of several implementations, in Markdown."""

from collections.abc import Sequence
from pathlib import Path

from analysis.judge.statement import load
from analysis.judge.verdict import Verdict
from testbed.conformance.judge import FILE, FORM, FORMAT, RULES
from testbed.shared import listed
from testbed.shared.formats import read_of_format


def tables(folders: Sequence[Path]) -> str:
    """Return for each document, in Markdown, its numbered requirements, and which did not hold in `folders`.

    Implementations with the same verdicts share a row.
    """
    head, statements = load(RULES, FORM)
    judged = [read_of_format(folder, FILE, FORMAT) for folder in folders]
    verdicts = {
        document.get("client", str): {row["id"]: Verdict(row["verdict"]) for row in document.get("rows", list)}
        for document in judged
    }
    lines: list[str] = []
    for name, paper in head["documents"].items():
        rows = [statement for statement in statements if statement.document == name]
        clients = [client for client in verdicts if any(verdicts[client][row.id] != Verdict.UNTESTABLE for row in rows)]
        lines += [f"## {paper['title']}", "", "| number | | section | requirement |", "|---|---|---|---|"]
        lines += [f"| {i} | {row.level} | {row.section} | {row.says} |" for i, row in enumerate(rows, 1)]
        lines += ["", f"| implementation | {listed.HEAD} |", listed.RULE]
        alike: dict[str, list[str]] = {}
        for client in clients:
            alike.setdefault(listed.cells([verdicts[client][row.id] for row in rows]), []).append(f"`{client}`")
        lines += [f"| {', '.join(names)} | {cells} |" for cells, names in alike.items()]
        lines.append("")
    return "\n".join(lines)
