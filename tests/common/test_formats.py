"""docs/reference/formats.md has the version of each file that programs read."""

import re

from tests.copies import FOLDERS, ROOT

PAGE = ROOT / "docs/reference/formats.md"
VERSION = re.compile(r"^FORMAT(?:: Final)? = (\d+)$", re.MULTILINE)
ROW = re.compile(r"^\| .+ \| (\d+) \| `(.+\.py)` \|$", re.MULTILINE)


def test_the_page_has_the_version_of_each_file() -> None:
    here = {
        (version, str(file.relative_to(ROOT)))
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        for version in VERSION.findall(file.read_text())
    }
    assert set(ROW.findall(PAGE.read_text())) == here
