# SPDX-License-Identifier: MIT
"""How a failed build speaks: one sentence, and a log for who wants more."""

from __future__ import annotations


class ImageError(Exception):
    """A build step failed; the text is one sentence for the person who started it."""
