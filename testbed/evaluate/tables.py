"""How controls stand in each criterion, and where each fails, in Markdown."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from analysis.judge.verdict import SIGNS, WORST_FIRST, Verdict
from scenarios import implementations
from testbed.evaluate.matrix import DATA, placebo_verdicts, verdicts
from testbed.evaluate.pages import FORMAT, place
from testbed.shared.formats import read_of_format

TITLES: Final = {"tcp": "Congestion controls of TCP", "utp": "Programs with uTP", "udp": "Programs with QUIC"}
"""Of tables in Markdown, by the transport of their controls. All have the same cells."""
MOST_COLUMNS: Final = 6
"""As many as fit into a page."""
_TOLD: Final = {Verdict.FAILS: "it", Verdict.UNTESTABLE: "not known whether it"}


def tables(folders: Sequence[Path]) -> str:
    """Return, in Markdown, how the controls evaluated in `folders` stand in each criterion, and where each fails.

    Controls of one transport stand beside each other, in the order of the folders.
    """
    documents = [read_of_format(folder, DATA, FORMAT).data for folder in folders]
    lines: list[str] = []
    for transport, title in TITLES.items():
        of_transport = [document for document in documents if _transport(document["client"]) == transport]
        for first in range(0, len(of_transport), MOST_COLUMNS):
            lines += ["", f"**{title}**", "", *_table(of_transport[first : first + MOST_COLUMNS])]
    for document in documents:
        lines += _failures(document)
    return "\n".join(lines).lstrip() + "\n"


def _transport(name: str) -> str:
    """Return the transport of an implementation; one that is no longer here counts as TCP's."""
    about = implementations.known().get(name, {})
    return str(about.get("transport", "tcp"))


def _table(documents: Sequence[dict[str, Any]]) -> list[str]:
    names = [document["client"] for document in documents]
    links = [f" [`{name}`](#{name.replace('.', '')}) |" for name in names]  # addresses of headings have no full stops
    lines = [f"| criterion | cells |{''.join(links)}"]
    lines.append("|---" * (2 + len(names)) + "|")
    for of_all in zip(*(document["criteria"] for document in documents), strict=True):
        first = of_all[0]
        if first["rows"]:
            stands = " | ".join(_standing(criterion) for criterion in of_all)
            level = "" if first["level"] == "text" else f" ({first['level']})"
            lines.append(f"| {first['section']} {first['title']}{level} | {len(first['cells'])} | {stands} |")
    told = [placebo_verdicts(document["criteria"]) for document in documents]
    if any(told):
        stands = " | ".join(_shown(each) if each else "none" for each in told)
        lines.append(f"| Placebo, beside each | {max(map(len, told))} | {stands} |")
    return lines


def _standing(criterion: dict[str, Any]) -> str:
    """Show how many cells of a criterion have another verdict than `holds`; the sign of that if none has."""
    return _shown(verdicts([criterion]))


def _shown(told: Sequence[Verdict]) -> str:
    counts = Counter(told)
    others = [
        f"{SIGNS[verdict]}\xa0{counts[verdict]}"
        for verdict in WORST_FIRST
        if verdict != Verdict.HOLDS and counts[verdict]
    ]
    return " ".join(others) or SIGNS[Verdict.HOLDS]


def _failures(document: dict[str, Any]) -> list[str]:
    name, baseline, seeds = document["client"], document["baseline"], document["seeds"]
    lines = ["", f"### {name}", "", f"`testbed evaluate {name} --baseline {baseline} --seeds {seeds}`:", ""]
    lines += ["| section | what fails or is not known | where | measured |", "|---|---|---|---|"]
    for criterion in document["criteria"]:
        otherwise = {row["id"]: row["otherwise"] for row in criterion["rows"]}
        for cell in criterion["cells"]:
            if (told := _TOLD.get(Verdict(cell["verdict"]))) and cell["counts"]:
                says = [cell["why"], *([f"it {cell['ended']}"] if cell["ended"] else [])]
                fails = f"{told} {otherwise[cell['row']]}"
                lines.append(
                    f"| {criterion['section']} | {fails} | {place(cell['point'])} | {_in_cell('; '.join(says))} |"
                )
    return lines


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
