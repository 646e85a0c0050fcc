"""`python -m testbed.release`: what a project publishes of a version, into one folder.

Wheels, a pack for each client and for labs, a Dockerfile, and the sums of all, signed if a key is given.
"""

import argparse
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from common import sums
from common.arguments import path
from engine.errors import EngineError
from images.cache import file_digest, project_root
from testbed.release import wheels
from testbed.signatures import sign

_DOCKERFILE: Final = Path("images/docker/gate.Dockerfile")


def main() -> int:
    """Return 0, or 1 after one sentence about what failed."""
    parser = argparse.ArgumentParser(prog="python -m testbed.release", description=__doc__)
    parser.add_argument("client", nargs="*", help="implementations to pack; default: none, only wheels")
    parser.add_argument("--lab", action="store_true", help="also pack the images of `testbed exec`")
    parser.add_argument("--into", type=path, metavar="FOLDER", default=Path("dist"), help="default: %(default)s")
    parser.add_argument("--sign", type=path, metavar="KEY", help="sign the sums with this OpenSSH key")
    options = parser.parse_args()
    into: Path = options.into
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        into.mkdir(parents=True, exist_ok=True)
        (into / sums.FILE).unlink(missing_ok=True)
        print(f"{into}: wheels of the testbed and of the observer", flush=True)
        files = wheels.build(into)
        files += [_packed(into, client, client) for client in options.client]
        files += [_packed(into, "lab", "--boot", "--lab")] if options.lab else []
        files.append(Path(shutil.copy(project_root() / _DOCKERFILE, into)))
        (into / sums.FILE).write_text("".join(f"{file_digest(file)}  {file.name}\n" for file in files))
        if options.sign:
            sign(into / sums.FILE, options.sign)
    except KeyboardInterrupt:
        print(f"interrupted; {into} has no sums, so it is no release", file=sys.stderr)
        return 130
    except subprocess.CalledProcessError as error:
        print((error.stderr or f"error: {error}").rstrip("\n"), file=sys.stderr)
        return 1
    except (EngineError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    return 0


def _packed(into: Path, name: str, *words: str) -> Path:
    """Pack what boots and what the words name, after building what is missing."""
    file = into / f"{name}.tar.xz"
    command = [sys.executable, "-P", "-m", "images", "pack", str(file), *words]
    subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)  # what it says of an end, this says, too
    return file


if __name__ == "__main__":
    sys.exit(main())
