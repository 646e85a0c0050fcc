# SPDX-License-Identifier: MIT
"""Debian's own kernel, unpatched, with this project's modules: what the qemu backend boots."""
