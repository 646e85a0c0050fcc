# SPDX-License-Identifier: MIT
"""The guest kernel: User-Mode Linux from Debian's kernel sources."""
