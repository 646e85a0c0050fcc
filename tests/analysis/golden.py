"""The text of a page, one block a line, beside what it was: a change of a page is read as a diff.

`pytest tests/analysis/test_report.py --update` writes the texts anew.
"""

import html.parser
import re
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "data" / "pages"
_BLOCKS: Final = (
    *("h1", "h2", "h3", "h4", "p", "li", "dt", "dd", "tr", "caption", "figcaption", "summary", "pre", "article"),
    *("section", "div", "details", "nav", "header", "footer", "main", "title", "label", "option", "button"),
)
_SILENT: Final = ("script", "style", "svg")


class _Text(html.parser.HTMLParser):
    """Collects blocks; a link has where it leads behind it, cells of a row are apart."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [""]
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in _SILENT
        if tag in _BLOCKS:
            self.blocks.append("")
        elif tag in ("td", "th"):
            self.blocks[-1] += " | "
        elif tag == "img" and not self.silent:
            self.blocks[-1] += f"[{dict(attrs).get('alt', '')}]"

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in _SILENT
        if tag in _BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.blocks[-1] += data


def text_of(page: str) -> str:
    """Return the text of a page that people see, without blank lines."""
    parser = _Text()
    parser.feed(page)
    lines = (re.sub(r"\s+", " ", block).strip() for block in parser.blocks)
    return "".join(f"{line}\n" for line in lines if line)


def check(name: str, page: str, update: bool) -> None:
    """Compare a page with its golden text, or write that."""
    text, file = text_of(page), FOLDER / f"{name}.txt"
    if update:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"{file}: pytest --update writes it anew"
