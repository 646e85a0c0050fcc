"""What became of the requirements, of several implementations, in Markdown."""

from collections.abc import Sequence
from pathlib import Path

from analysis.documents import read_made
from testbed.conformance.judge import FILE, HIDDEN, SIGNS
from testbed.conformance.requirements import load


def tables(folders: Sequence[Path]) -> str:
    """Return for each document, in Markdown, its numbered requirements, and what became of them in `folders`."""
    requirements = load()
    judged = [read_made(folder, FILE) for folder in folders]
    results = {
        document.get("client", str): {row["id"]: row["result"] for row in document.get("rows", list)}
        for document in judged
    }
    lines: list[str] = []
    for name, paper in requirements.documents.items():
        rows = [requirement for requirement in requirements.requirements if requirement.document == name]
        clients = [client for client in results if any(results[client][row.id] != HIDDEN for row in rows)]
        lines += [f"## {paper.title}", "", "| number | | section | requirement |", "|---|---|---|---|"]
        lines += [f"| {i} | {row.level} | {row.section} | {row.says} |" for i, row in enumerate(rows, 1)]
        numbers = "".join(f" {i} |" for i in range(1, len(rows) + 1))
        lines += ["", f"| implementation |{numbers}", "|---" * (1 + len(rows)) + "|"]
        for client in clients:
            lines.append(f"| `{client}` |" + "".join(f" {SIGNS[results[client][row.id]]} |" for row in rows))
        lines.append("")
    return "\n".join(lines)
