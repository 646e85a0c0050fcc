# SPDX-License-Identifier: MIT
"""Packages from Debian's archive, whatever release the host runs.

apt works on a state of its own below the cache, so the host's package lists are neither needed nor touched; its
configuration (proxies, certificates) is used. Everything comes through the archive's signed lists.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from images.errors import ImageError
from images.run import logged

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = re.compile(r"^(bookworm|trixie|forky|sid|stable|testing|oldstable|unstable)(-updates|-backports)?$")
SCHEMES = ("http://", "https://", "file:/", "copy:/")


@dataclass(frozen=True)
class Package:
    """One version of a package as the archive's signed lists have it; size in bytes."""

    name: str
    version: str
    sha256: str
    size: int


def mirrors(etc: Path = Path("/etc")) -> list[str]:
    """Return the URLs of Debian mirrors: $DEBIAN_MIRROR, else those the host's own apt is configured with.

    Raises ImageError when there is none, as on a host that is not Debian.
    """
    chosen = os.environ.get("DEBIAN_MIRROR")
    if chosen:
        return [chosen.rstrip("/")]
    found: list[str] = []
    for path in [etc / "apt/sources.list", *sorted((etc / "apt/sources.list.d").glob("*"))]:
        if path.suffix == ".sources":
            found += _deb822(path.read_text())
        elif path.suffix == ".list" and path.is_file():
            found += _one_line(path.read_text())
    unique = list(dict.fromkeys(found))
    if not unique:
        raise ImageError(
            "No Debian mirror is configured on this host: "
            "set DEBIAN_MIRROR to the URL of one, that of the folder that holds dists/"
        )
    return unique


def _one_line(text: str) -> list[str]:
    """Return the mirrors of sources.list(5) in one-line style."""
    pattern = re.compile(r"^\s*deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s+(.+)$")
    found = []
    for line in text.splitlines():
        match = pattern.match(line.partition("#")[0])
        if match:
            found += _useful(match[1].split(), match[2].split(), match[3].split())
    return found


def _deb822(text: str) -> list[str]:
    """Return the mirrors of sources.list(5) in deb822 style."""
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace():
                fields[name] = f"{fields.get(name, '')} {line.strip()}"
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.lower()
                fields[name] = value.strip()
        if fields.get("enabled", "yes").lower() == "no" or "deb" not in fields.get("types", "").split():
            continue
        found += _useful(*(fields.get(key, "").split() for key in ("uris", "suites", "components")))
    return found


def _useful(uris: list[str], suites: list[str], components: list[str]) -> list[str]:
    if "main" not in components or not any(SUITES.match(suite) for suite in suites):
        return []
    return [uri.rstrip("/") for uri in uris if uri.startswith(SCHEMES)]


def source_lines(suites: list[str]) -> str:
    """Return one-line apt sources for `suites` of every mirror, bound to Debian's own keys."""
    if not KEYRING.is_file():
        raise ImageError(f"{KEYRING} is missing: install the package debian-archive-keyring")
    return "".join(f"deb [signed-by={KEYRING}] {url} {suite} main\n" for url in mirrors() for suite in suites)


class Archive:
    """The archive's lists of some suites, kept below `folder`."""

    def __init__(self, folder: Path, suites: list[str]) -> None:
        self._folder = folder
        self._suites = suites

    def update(self) -> None:
        """Fetch the signed lists. A suite that a mirror lacks is passed over; ImageError when nothing came."""
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        (self._folder / "sources.list").write_text(source_lines(self._suites))
        failure = None
        try:
            logged([*self._apt("apt-get"), "update"], self._folder / "apt.log", "Fetching Debian's package lists")
        except ImageError as error:
            failure = error
        if not list((self._folder / "state/lists").glob("*Packages*")):
            raise failure or ImageError("Debian's package lists are empty")

    def ready(self) -> bool:
        """Tell whether the lists were ever fetched."""
        return (self._folder / "sources.list").is_file()

    def find(self, prefix: str) -> list[Package]:
        """Return every version of the packages whose name starts with `prefix`."""
        names = self._ask("pkgnames", prefix).split()
        if not names:
            return []
        found = []
        for stanza in self._ask("show", "--all-versions", *sorted(names)).split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Size|SHA256): (.*)$", stanza, re.MULTILINE))
            if len(fields) == 4:
                found.append(Package(fields["Package"], fields["Version"], fields["SHA256"], int(fields["Size"])))
        return list(dict.fromkeys(found))

    def _ask(self, *arguments: str) -> str:
        done = subprocess.run([*self._apt("apt-cache"), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"apt-cache {arguments[0]} failed: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def download(self, package: Package, into: Path) -> Path:
        """Fetch one package into the folder and return the file; apt has checked it against the signed lists."""
        wanted = f"{package.name}={package.version}"
        logged([*self._apt("apt-get"), "download", wanted], self._folder / "apt.log", f"Fetching {wanted}", cwd=into)
        return next(into.glob(f"{package.name}_*.deb"))

    def _apt(self, program: str) -> list[str]:
        options = {
            "Dir::State": f"{self._folder}/state",
            "Dir::State::status": f"{self._folder}/status",
            "Dir::Cache": f"{self._folder}/cache",
            "Dir::Etc::sourcelist": f"{self._folder}/sources.list",
            "Dir::Etc::sourceparts": "-",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "3",
        }
        return [program, *(f"--option={key}={value}" for key, value in options.items())]
