# SPDX-License-Identifier: MIT
"""The error of a failed build: one sentence, which may name a log."""

from __future__ import annotations


class ImageError(Exception):
    """A build step failed; the text is one sentence for the user."""
