# SPDX-License-Identifier: MIT
"""client.py over IPv6; apart from it, since more code takes Python more system calls, which cost virtual time."""

from __future__ import annotations

from typing import Any

import bittorrent
import client

_OVER_IPV4 = client.settings


def settings(flow: bittorrent.Flow) -> dict[str, Any]:
    """As client.py has them, but for where it listens."""
    return _OVER_IPV4(flow) | {"listen_interfaces": f"[::]:{flow.port}"}


if __name__ == "__main__":
    client.settings = settings
    client.main()
