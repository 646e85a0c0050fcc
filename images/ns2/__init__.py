# SPDX-License-Identifier: MIT
"""ns-2, the simulator of several of the papers, with LEDBAT for its agent TCP/Linux."""
