"""The lab: what boots for `testbed exec`, with the packages that a script asks for or its user adds."""

import codecs
import re
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from engine import images
from engine.errors import EngineError
from engine.images import Images
from images import index
from images import lab as build
from images.cache import Store, default_root
from images.errors import ImageError

_HEADER = re.compile(r"(?m)^# /// script$\s(?P<lines>(^#(| .*)$\s)+)^# ///$")  # as PEP 723 has it
_REQUIREMENTS = "requirements.txt"
_DIST_PACKAGES = "usr/lib/python3/dist-packages"


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


@dataclass(frozen=True)
class ScriptPackages:
    """Requirements that a script names, and sentences about those that are left out."""

    requirements: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def requirements_of(script: Path | None, folder: Path, *, file: bool = True) -> ScriptPackages:
    """The requirements in a script's PEP 723 header or, without one and with `file`, in requirements.txt of `folder`.

    That file is often older than the guest and written for another purpose: what the guest has, whatever the version,
    and what is no name on the Python Package Index is left out.

    Raises:
        EngineError: there is no such script, the header is not what PEP 723 says, or the file is no text.
    """
    if script and not script.is_file():
        raise EngineError(f"{script}: no such file; allowed: a script that uses Mininet, in Python or *.sh")
    header = _HEADER.search(script.read_text(errors="replace")) if script else None
    if header:
        text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in header["lines"].splitlines(True))
        try:
            dependencies = tomllib.loads(text).get("dependencies", [])
        except tomllib.TOMLDecodeError as error:
            raise EngineError(f"{script}: its `# /// script` header is not TOML: {error}") from None
        if not (isinstance(dependencies, list) and all(isinstance(package, str) for package in dependencies)):
            raise EngineError(f"{script}: `dependencies` in its header is {dependencies!r}; allowed: a list of texts")
        return ScriptPackages(tuple(dependencies))
    path = folder / _REQUIREMENTS
    return _of_file(path) if file and path.is_file() else ScriptPackages(())


def _of_file(path: Path) -> ScriptPackages:
    lines = (line.partition(" #")[0].strip() for line in _text(path).splitlines())
    wanted = [line for line in lines if line and not line.startswith(("#", "-"))]
    elsewhere = [line for line in wanted if _name(line) is None]
    in_guest = [line for line in wanted if _name(line) in _in_guest()]
    reasons = (
        (elsewhere, "no name on the Python Package Index"),
        (in_guest, "the guest has it, maybe in another version"),
    )
    return ScriptPackages(
        tuple(line for line in wanted if line not in elsewhere and line not in in_guest),
        tuple(f"{path.name}: left out {', '.join(lines)} ({why})" for lines, why in reasons if lines),
    )


def _text(path: Path) -> str:
    """Return the file's text, whose encoding its first bytes tell, as PowerShell writes it."""
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        allowed = "text in UTF-8 or UTF-16, or `--no-requirements`"
        raise EngineError(f"{path.name}: found bytes that are no text in {encoding}; allowed: {allowed}") from None


def _name(requirement: str) -> str | None:
    """The package's name as the index spells it; None if the line names a file or an address."""
    try:
        read = Requirement(requirement)
    except InvalidRequirement:
        return None
    return None if read.url else canonicalize_name(read.name)


@cache
def _in_guest() -> set[str]:
    """Names of the Python packages that the guest has; Ryu's modules are there under os-ken's."""
    folder = images.load(index.LAB).rootfs / _DIST_PACKAGES
    about = (path.name.removesuffix(".dist-info").removesuffix(".egg-info") for path in folder.glob("*-info"))
    return {canonicalize_name(name.partition("-")[0]) for name in about} | {"ryu"}


def _adding(boot: Images, kind: str, packages: object) -> Images:
    return replace(boot, provenance={**boot.provenance, kind: packages})


def _say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)
