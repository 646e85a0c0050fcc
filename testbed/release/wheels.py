"""Builds the wheels of a release: the whole testbed, and the observer alone.

The testbed reads its own files, such as schemas and the sources of images, so its wheel holds a tree as a checkout
has it. A `.pth` file, as of an editable install, lets Python find packages there.
"""

import base64
import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path
from typing import Final

from common.commit import FILE, commit
from images.cache import project_root

TESTBED: Final = "ledbat-testbed"
OBSERVER: Final = "ledbat-observer"
_ABOUT: Final = ".dist-info/"
_TREE: Final = "ledbat_testbed"
_NOT_IN_THE_TREE: Final = ("tests/", "docs/", ".ci/")
_FOR_PICTURES: Final = "vl-convert-python"
"""As large as all that a gate needs besides Polars and NumPy; only pages with pictures need it."""
_DATE: Final = (2020, 1, 1, 0, 0, 0)  # so that the same files give the same bytes


def build(into: Path) -> list[Path]:
    """Build both wheels from this checkout's files that git knows, and return them.

    Raises:
        CalledProcessError: the extension does not compile, or this is no checkout.
    """
    tree = _tree()
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(_compiled(tree, Path(scratch))) as archive:
        compiled = {name: archive.read(name) for name in archive.namelist()}
    about = {name.partition(_ABOUT)[2]: content for name, content in compiled.items() if _ABOUT in name}
    packages = {name: content for name, content in compiled.items() if _ABOUT not in name}
    extension = {f"{_TREE}/{name}": content for name, content in packages.items() if name.endswith(".so")}
    pth = {f"{_TREE}.pth": f"{_TREE}\n".encode()}
    return [
        _wheel(into, TESTBED, about, {**tree, **extension, **pth}, extra=_FOR_PICTURES),
        _wheel(into, OBSERVER, about, packages),
    ]


def _compiled(tree: Mapping[str, bytes], into: Path) -> Path:
    """Return the wheel that setuptools builds: all packages without their data, and the extension for this machine."""
    for name, content in tree.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(content)
    command = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--wheel-dir", str(into), str(into / _TREE)]
    subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    (wheel,) = into.glob("*.whl")
    return wheel


def _tree() -> dict[str, bytes]:
    """Return the checkout's files, by their paths in the wheel, and the commit that they are of."""
    root = project_root()
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True)
    names = (name for name in listed.stdout.split("\0") if name and not name.startswith(_NOT_IN_THE_TREE))
    files = {f"{_TREE}/{name}": (root / name).read_bytes() for name in names if (root / name).is_file()}
    return {**files, f"{_TREE}/{FILE}": f"{commit()}\n".encode()}


def _wheel(
    into: Path, name: str, about: Mapping[str, bytes], files: Mapping[str, bytes], extra: str | None = None
) -> Path:
    """Write a wheel with these files. A requirement that is `extra` becomes that of the extra `pictures`."""
    metadata = message_from_bytes(about["METADATA"])
    metadata.replace_header("Name", name)
    requirements = metadata.get_all("Requires-Dist", [])
    del metadata["Requires-Dist"]
    for requirement in requirements:
        optional = extra is not None and requirement.startswith(extra)
        metadata["Requires-Dist"] = f'{requirement}; extra == "pictures"' if optional else requirement
    if extra:
        metadata["Provides-Extra"] = "pictures"
    stem = f"{name.replace('-', '_')}-{metadata['Version']}"
    folder = f"{stem}.dist-info"
    wheel = message_from_bytes(about["WHEEL"])
    own = {**about, "METADATA": bytes(metadata)}
    del own["RECORD"], own["top_level.txt"]
    contents = {**files, **{f"{folder}/{part}": content for part, content in own.items()}}
    path = into / f"{stem}-{wheel['Tag']}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in sorted(contents.items()):
            archive.writestr(_member(member), content)
        archive.writestr(_member(f"{folder}/RECORD"), _record(contents, f"{folder}/RECORD"))
    return path


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member as executable as its file in the checkout."""
    file = project_root() / name.removeprefix(f"{_TREE}/")
    member = zipfile.ZipInfo(name, _DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = (0o100755 if file.is_file() and file.stat().st_mode & 0o100 else 0o100644) << 16
    return member


def _record(contents: Mapping[str, bytes], name: str) -> str:
    """Return the RECORD of a wheel: the sum and size of each file."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for member, content in sorted(contents.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([member, f"sha256={digest}", len(content)])
    rows.writerow([name, "", ""])
    return text.getvalue()
