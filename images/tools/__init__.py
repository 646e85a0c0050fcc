# SPDX-License-Identifier: MIT
"""The static programs that run inside the guest."""
