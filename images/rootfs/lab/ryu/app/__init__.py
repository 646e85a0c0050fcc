# SPDX-License-Identifier: MIT
"""Applications under names that Ryu had for its own."""
