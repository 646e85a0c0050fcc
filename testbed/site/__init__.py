"""One static folder for any web host: reports, pages of products, documentation, and a page that leads there.

A product says what the site shows of it by `ON_SITE` in its `__init__.py`: for each folder of results, a title and what
a reader finds on its pages.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import yaml

from analysis.documents import read_made
from analysis.errors import BadInputError
from analysis.report.rendering import write_page, write_shared
from analysis.tables.package import FILE as PACKAGE
from common import sums
from common.files import give_name
from scenarios.run_files import FAILED
from testbed.cli import COMMANDS, ROOT

OWN: Final = Path(__file__).with_name("templates")
REPORT: Final = "report/index.html"
SHIM: Final = "iframe-worker.js"
# captures and columns stay at home; what pages show and link goes along
LEFT_OUT: Final = ("*.parquet", "*.pcap", "*.pcap.gz", "runs", "studies", "logs", "seed-*", f"{FAILED}seed-*", ".*")
_ANCHOR: Final = re.compile(r'<a (?P<before>[^>]*?)href="(?P<to>[^"#:]+)"(?P<after>[^>]*)>(?P<text>.*?)</a>')
_CLASS: Final = re.compile(r'class="[^"]*"')
_LABEL: Final = re.compile(r'aria-label="([^"]*)"')
_TOP: Final = '<main id="content">\n'
_STAYED: Final = "Published without runs, captures and logs: their names stand here without a link."
_BY_MAKE: Final = "In a checkout, <code>{}</code> makes all of them, and the command on a card those of that card."
_BY_COMMAND: Final = "In a checkout, the command under “Where is the evidence?” makes all of them."
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


@dataclass(frozen=True)
class Part:
    """A part of the site: its page, its title, and what a reader finds there."""

    page: str
    title: str
    says: str


def write(results: Path, out: Path) -> Path:
    """Put everything below a folder of results, and the documentation, into a folder; return its index.

    Raises BadInputError where there is no report, or the documentation cannot be made.
    """
    if not any((results / folder / REPORT).exists() for folder in ("", "quick")):
        raise BadInputError(f"{results / REPORT}: missing; make it with: snakemake --cores all")
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        partial.chmod(0o755)
        parts = [*_reports(results, partial), *_tables(results, partial)]
        parts += [*_products(results, partial), _documentation(partial)]
        write_page(partial / "index.html", OWN / "site.html", {"parts": parts})
        (partial / ".nojekyll").touch()  # GitHub Pages leaves out files that begin with _ otherwise
        shutil.rmtree(out, ignore_errors=True)
        give_name(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out / "index.html"


def _reports(results: Path, out: Path) -> list[Part]:
    parts = []
    known = (
        ("", "report", "The report", "What came out, paper by paper, and the evidence"),
        ("quick", "quick", "The quick report", "What came out, each experiment at its smallest useful size"),
    )
    for folder, name, title, says in known:
        made = results / folder / "report"
        if not (made / "index.html").exists():
            continue
        _check(made)
        _copy(made, out / name)
        how = _BY_MAKE.format("make quick" if folder else "make reproduce")
        _unlink_what_stayed(out / name, how)
        parts.append(Part(f"{name}/index.html", title, says))
        more = (
            ("explained.html", "LEDBAT in ten minutes", "What LEDBAT does, with live figures and packets of real runs"),
            ("changes.html", "What changed", "Claims that differ from the last complete reproduction; also as a feed"),
            ("machines.html", "Agreement across machines", "The same claims, measured elsewhere"),
        )
        parts += [Part(f"{name}/{page}", head, summary) for page, head, summary in more if (made / page).exists()]
    return parts


def _check(made: Path) -> None:
    """Refuse a folder of which a file is not as it was made, or was put there."""
    for file, what in sums.damaged(made).items():
        raise BadInputError(f"{made / file}: {what}; snakemake makes it again")
    for file in sums.unvouched(made):
        raise BadInputError(f"{made / file}: {sums.WITHOUT}; remove it, and snakemake makes what is missing")


def _tables(results: Path, out: Path) -> list[Part]:
    """Copy the tables over runs, with a page that says what they are."""
    parts = []
    known = (("", "tables", "The tables"), ("quick", "quick-tables", "The quick tables"))
    for folder, name, title in known:
        made = results / folder / "tables"
        if not (made / PACKAGE).exists():
            continue
        _check(made)
        shutil.copytree(made, out / name, ignore=shutil.ignore_patterns(".*"))
        tables = read_made(made, PACKAGE).data["resources"]
        write_page(out / name / "index.html", OWN / "tables.html", {"title": title, "tables": tables})
        parts.append(
            Part(f"{name}/index.html", title, "Every run, flow, queue, event and claim, to download as Parquet")
        )
    return parts


def _products(results: Path, out: Path) -> list[Part]:
    """Copy the pages of products, a folder each, in the order of the commands."""
    packages = dict.fromkeys(module.rpartition(".")[0] for module, _ in COMMANDS.values() if module)
    shown: dict[str, tuple[str, str]] = {}
    for package in packages:
        shown |= getattr(import_module(package), "ON_SITE", {})
    parts = []
    for kind, (title, says) in shown.items():
        if (results / kind / "index.html").exists():  # of all its folders
            (out / kind).mkdir()
            shutil.copyfile(results / kind / "index.html", out / kind / "index.html")
            write_shared(out / kind)
            parts.append(Part(f"{kind}/index.html", f"{title}: all", says))
        for index in sorted(results.glob(f"{kind}/*/index.html")):
            _copy(index.parent, out / kind / index.parent.name)
            _unlink_what_stayed(out / kind / index.parent.name, _BY_COMMAND)
            parts.append(Part(f"{kind}/{index.parent.name}/index.html", f"{title}: {index.parent.name}", says))
    return parts


def _copy(folder: Path, out: Path) -> None:
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(*LEFT_OUT))


def _unlink_what_stayed(folder: Path, how: str) -> None:
    """Turn links to runs, captures and logs, which are not published, into text, and say how a reader makes them."""
    for page in folder.rglob("*.html"):

        def text(link: re.Match[str], beside: Path = page.parent) -> str:
            return link[0] if (beside / unquote(link["to"])).exists() else _as_text(link)

        linked = page.read_text(encoding="utf-8")
        unlinked = _ANCHOR.sub(text, linked)
        if unlinked != linked:
            note = f'<p class="look small">{_STAYED} {how}</p>\n'
            unlinked = unlinked.replace(_TOP, _TOP + note, 1)
        page.write_text(unlinked, encoding="utf-8")


def _as_text(link: re.Match[str]) -> str:
    """Give a link's text in its look; of a sign, which has none, the words for readers who do not see it."""
    attributes = link["before"] + link["after"]
    look, label = _CLASS.search(attributes), _LABEL.search(attributes)
    words = link["text"] or (f'<span class="hidden">{label[1]}</span>' if label else "")
    kind = look[0] if look else 'class="soft"'
    return f"<span {kind}>{words}</span>"


def _documentation(out: Path) -> Part:
    """Build the documentation; links that leave docs/ are only text there."""
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary) / "docs"
        shutil.copytree(ROOT / "docs", staged)
        for page in staged.rglob("*.md"):
            page.write_text(_LINK.sub(_inside(page, staged), page.read_text(encoding="utf-8")), encoding="utf-8")
        (staged / "javascripts").mkdir()
        shutil.copyfile(OWN / SHIM, staged / "javascripts" / SHIM)
        settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        nav = yaml.safe_dump({"nav": navigation(staged)})
        (staged.parent / "mkdocs.yml").write_text(settings + nav, encoding="utf-8")
        mkdocs = [sys.executable, "-P", "-m", "mkdocs", "build", "--quiet", "--strict"]
        command = [*mkdocs, "--site-dir", str(out.resolve() / "docs")]
        done = subprocess.run(command, cwd=staged.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadInputError(f"{ROOT / 'docs'}: {done.stderr.strip() or done.stdout.strip()}")
    return Part(
        "docs/index.html", "Documentation", "How to run it, add to it and read it; with a search that works offline"
    )


def navigation(docs: Path) -> list[str | dict[str, list[str]]]:
    """List the sections of index.md with the pages that each names, then those of the same folder that it does not.

    Pages beside index.md stand first.
    """
    beside = sorted(page.name for page in docs.glob("*.md") if page.name != "index.md")
    nav: list[str | dict[str, list[str]]] = ["index.md", *beside]
    for section in re.split(r"^## ", (docs / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        named = re.findall(r"\]\(([\w/-]+\.md)\)", text)
        folder = Path(named[0]).parent
        rest = sorted(str(folder / page.name) for page in (docs / folder).glob("*.md"))
        nav.append({title: list(dict.fromkeys(named + rest))})
    return nav


def _inside(page: Path, docs: Path) -> Callable[[re.Match[str]], str]:
    def text(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        return link[0] if target.is_file() and target.is_relative_to(docs.resolve()) else link[1]

    return text
