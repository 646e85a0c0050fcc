# SPDX-License-Identifier: MIT
"""One side of a flow by libtorrent-rasterbar through its Python bindings; uTP only, or with --tcp TCP only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bittorrent
import libtorrent

FOLDER = Path("/tmp/libtorrent")  # noqa: S108  the endpoint's own
PLAINTEXT = 2
PREFER_TCP = 0


def settings(flow: bittorrent.Flow) -> dict[str, Any]:
    """One transport between the two hosts and no search for others; all else as libtorrent has it."""
    chosen = {
        "listen_interfaces": f"0.0.0.0:{flow.port}",
        **dict.fromkeys(("enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp"), False),
        **dict.fromkeys(("enable_outgoing_tcp", "enable_incoming_tcp"), "--tcp" in sys.argv),
        **dict.fromkeys(("enable_outgoing_utp", "enable_incoming_utp"), "--tcp" not in sys.argv),
        **dict.fromkeys(("in_enc_policy", "out_enc_policy"), PLAINTEXT),
        # with peer_proportional uTP would be throttled in favour of TCP connections that do not exist
        "mixed_mode_algorithm": PREFER_TCP,
        "allow_multiple_connections_per_ip": True,
    }
    if "target_ns" in flow.params:
        chosen["utp_target_delay"] = flow.params["target_ns"] // 1_000_000
    if "gain_bytes" in flow.params:
        chosen["utp_gain_factor"] = flow.params["gain_bytes"]
    return chosen


def main() -> None:
    """Seed or fetch until the flow's end."""
    flow = bittorrent.read_flow(("target_ns", "gain_bytes"))
    file = bittorrent.prepare(flow, FOLDER)
    session = libtorrent.session(settings(flow))
    params = libtorrent.add_torrent_params()
    params.ti = libtorrent.torrent_info(libtorrent.bdecode(bittorrent.torrent(flow.size)))
    params.save_path = str(FOLDER)
    if flow.seeds:
        params.flags |= libtorrent.torrent_flags.seed_mode
    torrent = session.add_torrent(params)
    if flow.seeds:
        torrent.connect_peer((flow.peer, flow.port))
    while not bittorrent.wait(bittorrent.POLL_S):
        if flow.seeds:
            # two seeds do not stay connected
            if flow.bytes and torrent.status().total_payload_upload >= flow.size and not torrent.get_peer_info():
                break
        elif torrent.status().is_seeding:
            bittorrent.complete(flow)
            break
    if not flow.seeds:
        session.pause()
        torrent.flush_cache()
        bittorrent.wait(0.5)
    bittorrent.finish(flow, file)


if __name__ == "__main__":
    if "--version" in sys.argv:
        print("libtorrent", libtorrent.version)
    else:
        main()
