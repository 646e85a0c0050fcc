"""What command lines give, before anything is done with it."""

import argparse
import os
import resource
from pathlib import Path
from typing import Final

LEAST_BYTES: Final = 2800 << 20
"""Of addresses: verify ended well with 2,929 MiB, and Polars aborted it with 1,464."""


def path(text: str) -> Path:
    """Read the name of a file or a folder; an empty one, such as of an unset variable, would be the working folder.

    Raises:
        argparse.ArgumentTypeError: the text is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("found an empty text; allowed: the name of a file or folder")
    return Path(text)


def wrong_shell() -> str | None:
    """Say what is wrong with what this process has from its shell, if that ends the testbed without a sentence later.

    A umask may take files from whom they belong to; below a limit of addresses, libraries abort the process.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    if mask & 0o700:
        return f"umask: found {mask:04o}; allowed: one that leaves files to their owner, such as 0022"
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes != resource.RLIM_INFINITY and limit_bytes < LEAST_BYTES:
        return f"ulimit -v: found {limit_bytes >> 20} MiB; allowed: none, or {LEAST_BYTES >> 20} MiB or more"
    return None
