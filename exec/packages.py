"""The lab: what boots for `testbed exec`, with the packages that a script asks for or its user adds."""

import re
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from engine import images
from engine.errors import EngineError
from engine.images import Images
from exec import lab as build
from images import index
from images.cache import Store, default_root
from images.errors import ImageError

_HEADER = re.compile(r"(?m)^# /// script$\s(?P<lines>(^#(| .*)$\s)+)^# ///$")  # as PEP 723 has it
_REQUIREMENTS = "requirements.txt"


@dataclass(frozen=True)
class Lab:
    """What boots, and the folder with Python packages that come on top (None: none)."""

    images: Images
    python: Path | None


def load(deb: tuple[str, ...], pip: tuple[str, ...]) -> Lab:
    """The lab with Debian packages `deb` and Python packages `pip`.

    Raises:
        EngineError: the lab has not been built, or there is no such package.
    """
    boot = images.load(index.LAB)
    store = Store(default_root(), _say)
    python = None
    try:
        if deb:
            root, versions = build.with_debian(store, _say, deb)
            boot = _adding(boot, "deb", versions)
            boot.provenance["rootfs"] = {"digest": root.digest}
            boot = replace(boot, rootfs=root.root)
        if pip:
            python = build.with_python(store, _say, pip)
            boot = _adding(boot, "pip", python.versions)
    except ImageError as error:
        raise EngineError(str(error)) from None
    return Lab(boot, python.folder if python else None)


def named_by(script: Path | None, folder: Path) -> tuple[str, ...]:
    """The requirements in a script's PEP 723 header or, without one, in requirements.txt of `folder`.

    Raises:
        EngineError: there is no such script, or the header is not what PEP 723 says.
    """
    if script and not script.is_file():
        raise EngineError(f"{script}: no such file; allowed: a script that uses Mininet, in Python or *.sh")
    header = _HEADER.search(script.read_text(errors="replace")) if script else None
    if header:
        text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in header["lines"].splitlines(True))
        try:
            found = tomllib.loads(text).get("dependencies", [])
        except tomllib.TOMLDecodeError as error:
            raise EngineError(f"{script}: its `# /// script` header is not TOML: {error}") from None
        if not (isinstance(found, list) and all(isinstance(package, str) for package in found)):
            raise EngineError(f"{script}: `dependencies` in its header is {found!r}; allowed: a list of texts")
        return tuple(found)
    try:
        lines = (folder / _REQUIREMENTS).read_text().splitlines()
    except FileNotFoundError:
        return ()
    plain = (line.partition(" #")[0].strip() for line in lines)
    return tuple(line for line in plain if line and not line.startswith(("#", "-")))


def _adding(boot: Images, kind: str, packages: object) -> Images:
    return replace(boot, provenance={**boot.provenance, kind: packages})


def _say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)
