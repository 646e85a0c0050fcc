# SPDX-License-Identifier: MIT
"""Packages from Debian's archive, whatever release the host runs.

apt works on a state of its own below the cache, so the host's package lists are neither needed nor touched; its
configuration (proxies, certificates) is used. Everything comes through the archive's signed lists.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from common.estimate import about, left_s
from common.locks import held
from images.errors import ImageError
from images.run import Say, Tell, logged
from scenarios.names import KINDS

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = re.compile(r"^(bookworm|trixie|forky|sid|stable|testing|oldstable|unstable)(-updates|-backports)?$")
BINARIES, SOURCES = "deb", "deb-src"
"""What a line of apt's sources is about."""
_S_A_BYTE = 1 / 5e6
_TRUST_BYTES = 10e6
SCHEMES = ("http://", "https://", "file:/", "copy:/")


@dataclass(frozen=True)
class Package:
    """One version of a package, from the archive's signed lists; size in bytes."""

    name: str
    version: str
    sha256: str
    size: int

    def __post_init__(self) -> None:
        """Raise ValueError for what cannot be a package: its fields become names of files and arguments of apt."""
        for kind, value in (("debian package", self.name), ("debian version", self.version), ("sha256", self.sha256)):
            if refused := KINDS[kind].refusal(value):
                raise ValueError(refused)
        if not isinstance(self.size, int) or self.size < 0:
            raise ValueError(f"found the size {self.size!r}; allowed: bytes")

    @property
    def upstream(self) -> str:
        """The version that its authors gave: that of `1:4.1.3+dfsg-2` is 4.1.3."""
        return re.split(r"[-+~]", self.version.rpartition(":")[2])[0]


def mirrors(etc: Path = Path("/etc")) -> list[str]:
    """Return the URLs of Debian mirrors: $DEBIAN_MIRROR, or those in the configuration of the host's apt.

    Raises ImageError when there is none, as on a host that is not Debian.
    """
    chosen = os.environ.get("DEBIAN_MIRROR")
    if chosen:
        return [chosen.rstrip("/")]
    configured: list[str] = []
    for path in [etc / "apt/sources.list", *sorted((etc / "apt/sources.list.d").glob("*"))]:
        if path.suffix == ".sources":
            configured += _deb822(path.read_text())
        elif path.suffix == ".list" and path.is_file():
            configured += _one_line(path.read_text())
    unique = list(dict.fromkeys(configured))
    if not unique:
        raise ImageError(
            "No Debian mirror is configured on this host: "
            "set DEBIAN_MIRROR to the URL of one, that of the folder that holds dists/"
        )
    return unique


def _one_line(text: str) -> list[str]:
    """Return the mirrors of sources.list(5) in one-line style."""
    pattern = re.compile(r"^\s*deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s+(.+)$")
    urls = []
    for line in text.splitlines():
        match = pattern.match(line.partition("#")[0])
        if match:
            urls += _useful(match[1].split(), match[2].split(), match[3].split())
    return urls


def _deb822(text: str) -> list[str]:
    """Return the mirrors of sources.list(5) in deb822 style."""
    urls = []
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
        urls += _useful(*(fields.get(key, "").split() for key in ("uris", "suites", "components")))
    return urls


def _useful(uris: list[str], suites: list[str], components: list[str]) -> list[str]:
    if "main" not in components or not any(SUITES.match(suite) for suite in suites):
        return []
    return [url.rstrip("/") for uri in uris for url in _listed(uri) if url.startswith(SCHEMES)]


def _listed(uri: str) -> list[str]:
    """Return the mirrors in the file that a URI of apt-transport-mirror(1) names, as cloud images have them."""
    kind, _, place = uri.partition(":")
    if kind != "mirror+file":
        return [uri]
    try:
        lines = Path("/" + place.lstrip("/")).read_text().splitlines()
    except OSError:
        return []
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def source_lines(suite: str) -> str:
    """Return one-line apt sources for `suite` of every mirror, bound to Debian's own keys."""
    if not KEYRING.is_file():
        raise ImageError(f"{KEYRING} is missing: install the package debian-archive-keyring")
    return "".join(f"deb [signed-by={KEYRING}] {url} {suite} main\n" for url in mirrors())


def _bytes_in(folder: Path) -> int:
    count = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # apt has renamed it
            count += file.stat().st_size
    return count


class Archive:
    """One suite of the archive. Its lists are kept below `folder`, which one process uses at a time (`opened`)."""

    _updated: ClassVar[set[Path]] = set()

    def __init__(self, folder: Path, suite: str, kind: str = BINARIES, say: Say = print) -> None:
        self._folder = folder / (suite if kind == BINARIES else f"{suite}-{kind}")
        self._kind = kind
        self._say = say
        self.suite = suite

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Fetch the signed lists once, and lock out other processes meanwhile.

        Raises ImageError if they cannot be fetched.
        """
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        with held(self._folder / "lock", f"fetches packages of Debian {self.suite}", self._say):
            if self._folder not in self._updated:
                self._update()
                self._updated.add(self._folder)
            yield

    def _update(self) -> None:
        (self._folder / "status").touch()
        (self._folder / "sources.list").write_text(re.sub(r"(?m)^deb ", f"{self._kind} ", source_lines(self.suite)))
        failure = None
        try:
            self._apt_get("update", what=f"Fetching the package lists of Debian {self.suite}")
        except ImageError as error:
            # of several mirrors, one may lack the suite
            failure = error
        if not list((self._folder / "state/lists").glob("*Packages*" if self._kind == BINARIES else "*Sources*")):
            raise failure or ImageError(f"No mirror has Debian {self.suite}: {', '.join(mirrors())}")

    def offers(self, names: Sequence[str]) -> list[Package]:
        """Return every version of the packages with these names."""
        known = set(self._apt_cache("pkgnames").split())
        names = sorted(known.intersection(names))
        offered = []
        for stanza in self._apt_cache("show", "--all-versions", "--", *names).split("\n\n") if names else []:
            fields = dict(re.findall(r"^(Package|Version|Size|SHA256): (.*)$", stanza, re.MULTILINE))
            if len(fields) == 4:
                offered.append(Package(fields["Package"], fields["Version"], fields["SHA256"], int(fields["Size"])))
        return list(dict.fromkeys(offered))

    def names(self, prefix: str) -> list[str]:
        """Return the names of all packages that start with `prefix`."""
        return self._apt_cache("pkgnames", "--", prefix).split()

    def closure(self, wanted: Sequence[str], patterns: Sequence[str] = ()) -> list[Package]:
        """Return packages and all their dependencies, sorted by name; ImageError if one is missing.

        `wanted` are names; `patterns` are those of apt-patterns(7).
        """
        for refused in filter(None, map(KINDS["debian package"].refusal, wanted)):
            raise ImageError(f"Debian packages: {refused}")
        # Pattern-Only: a name that no package has is not a regular expression for others
        command = ["install", "--simulate", "--option=APT::Install-Recommends=false"]
        command += ["--option=APT::Cmd::Pattern-Only=true", "--", *wanted, *patterns]
        done = subprocess.run([*self._command("apt-get"), *command], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
            raise ImageError(f"Debian {self.suite} cannot give what is asked for: {' '.join(errors) or done.stdout}")
        chosen = set(re.findall(r"^Inst (\S+) \((\S+) ", done.stdout, re.MULTILINE))
        offered = {(each.name, each.version): each for each in self.offers([name for name, _ in chosen])}
        return [offered[each] for each in sorted(chosen)]

    def download(self, packages: Sequence[Package], into: Path) -> None:
        """Fetch packages into the folder, under names that apt gives; it has checked them against the signed lists."""
        wanted = [f"{package.name}={package.version}" for package in packages]
        whole = sum(package.size for package in packages)

        def tell(_: str, __: str, took_s: float) -> None:
            came = min(whole, _bytes_in(into))
            seconds = left_s(whole - came, came, took_s, _S_A_BYTE, _TRUST_BYTES)
            self._say(f"Debian {self.suite}: {came / 1e6:.0f} of {whole / 1e6:.0f} MB have come, {about(seconds)} left")

        self._apt_get("download", "--", *wanted, what=f"Fetching {', '.join(wanted)[:100]}", cwd=into, tell=tell)

    def download_source(self, name: str, into: Path) -> None:
        """Fetch a package's source as its authors gave it, without Debian's changes, into the folder; apt checks it."""
        words = ("source", "--download-only", "--tar-only", "--", name)
        self._apt_get(*words, what=f"Fetching the source of {name}", cwd=into)

    def _apt_get(self, *arguments: str, what: str, cwd: Path | None = None, tell: Tell | None = None) -> None:
        logged([*self._command("apt-get"), *arguments], self._folder / "apt.log", what, cwd=cwd, tell=tell)

    def _apt_cache(self, *arguments: str) -> str:
        done = subprocess.run([*self._command("apt-cache"), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"apt-cache {arguments[0]} failed: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def _command(self, program: str) -> list[str]:
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
            # a snapshot archive is a mirror, too; what comes from it has the digests of a lock
            "Acquire::Check-Valid-Until": "false",
        }
        return [program, *(f"--option={key}={value}" for key, value in options.items())]
