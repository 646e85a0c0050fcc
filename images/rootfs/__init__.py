# SPDX-License-Identifier: MIT
"""The guest's root file system: a Debian release, trimmed."""
