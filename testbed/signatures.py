"""Signs archives and releases and checks signatures, by OpenSSH's ssh-keygen.

What is signed is one file, which holds the sum of every other one: the metadata of an archive.
"""

import shutil
import subprocess
from pathlib import Path

from engine.errors import EngineError
from testbed.crates import METADATA, SIGNATURE

NAMESPACE = "ledbat-testbed"
_PROGRAM = "ssh-keygen"


def sign(file: Path, key: Path) -> None:
    """Sign a file with a private key, or with a public one whose private key an agent has; the signature ends in .sig.

    Raises:
        EngineError: the key is missing or no key, or ssh-keygen is missing.
    """
    if not key.is_file():
        raise EngineError(f"--sign {key}: found no such file; allowed: a key that ssh-keygen reads")
    done = _keygen("sign", ["-f", str(key.absolute())], file)
    if done.returncode:
        raise EngineError(f"--sign {key}: {_PROGRAM} refused it: {_last_line(done.stderr)}")
    file.with_name(f"{file.name}.sig").write_bytes(done.stdout)


def signer(folder: Path, allowed: Path) -> str:
    """Return who of the allowed signers (ssh-keygen(1), ALLOWED SIGNERS) has signed an unpacked archive.

    Raises:
        EngineError: it has no signature, or one that is not theirs; the file is missing, or ssh-keygen is.
    """
    signature = folder / SIGNATURE
    if not allowed.is_file():
        raise EngineError(f"--signer {allowed}: found no such file; allowed: lines of allowed signers")
    if not signature.is_file():
        raise EngineError(f"--signer {allowed}: the archive is not signed")
    who = ["-s", str(signature), "-f", str(allowed.absolute())]
    named = _keygen("find-principals", who)
    for principal in named.stdout.decode(errors="replace").splitlines():
        done = _keygen("verify", [*who, "-I", principal], folder / METADATA)
        if done.returncode == 0:
            return f"{principal}, {done.stdout.decode(errors='replace').strip().rpartition(' with ')[2]}"
    raise EngineError(f"--signer {allowed}: the signature is not good, or not by one of these signers")


def _keygen(what: str, words: list[str], data: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    if shutil.which(_PROGRAM) is None:
        raise EngineError(f"signatures need {_PROGRAM}, which is missing here: install the package openssh-client")
    command = [_PROGRAM, "-Y", what, *words, "-n", NAMESPACE]
    return subprocess.run(command, input=data.read_bytes() if data else b"", capture_output=True, check=False)


def _last_line(text: bytes) -> str:
    return text.decode(errors="replace").strip().rpartition("\n")[2]
