# SPDX-License-Identifier: MIT
"""What boots and what is under test: guest kernel, root file system, in-guest tools, kernel module."""
