"""What command lines give, before anything is done with it."""

import argparse
import os
from pathlib import Path


def path(text: str) -> Path:
    """Read the name of a file or a folder; an empty one, such as of an unset variable, would be the working folder.

    Raises:
        argparse.ArgumentTypeError: the text is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("found an empty text; allowed: the name of a file or folder")
    return Path(text)


def wrong_umask() -> str | None:
    """Say what is wrong with this process's umask, if it takes files from whom they belong to."""
    mask = os.umask(0o077)
    os.umask(mask)
    if not mask & 0o700:
        return None
    return f"umask: found {mask:04o}; allowed: one that leaves files to their owner, such as 0022"
