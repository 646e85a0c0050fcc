"""Carries out `testbed wireshark`: a run's packets as one pcapng, and a profile for Wireshark."""

import argparse
from pathlib import Path
from typing import Final

from analysis import run_json
from analysis.capture import pcapng
from analysis.errors import BadInputError
from analysis.files import write_text
from common.arguments import path
from common.counts import plural

PROFILE: Final = "LEDBAT"
_COLUMNS: Final = (  # title and content: a letter of Wireshark's, or fields of which each packet has one
    ("No.", "%m"),
    ("Time", "%t"),
    ("Tap", "frame.interface_name"),
    ("Source", "%s"),
    ("Destination", "%d"),
    ("Protocol", "%p"),
    ("Length", "%L"),
    ("Number", "bt-utp.seq_nr || tcp.seq"),
    ("Acknowledges", "bt-utp.ack_nr || tcp.ack"),
    ("Sent at", "bt-utp.timestamp_us || tcp.options.timestamp.tsval"),
    ("Delay of the other way [us]", "bt-utp.timestamp_diff_us"),
    ("Window [bytes]", "bt-utp.wnd_size || tcp.window_size"),
    ("In flight [bytes]", "tcp.analysis.bytes_in_flight"),
    ("What happened", "frame.comment"),
    ("Info", "%i"),
)
_COLOURS: Final = (  # name, filter, background
    ("What happened", "frame.comment", (65535, 62194, 45232)),
    ("uTP", "bt-utp", (56540, 60909, 65535)),
    ("TCP", "tcp", (63479, 61680, 58853)),
    ("QUIC and other UDP", "udp", (61423, 56797, 63479)),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("run", type=path, nargs="?", help="a run folder (seed-N)")
    into = "default: EXPERIMENT-CELL-seed-N.pcapng, in this folder"
    parser.add_argument("--into", type=path, metavar="FILE", help=into)
    profiles = f"write the profile {PROFILE} into this folder of profiles, such as ~/.config/wireshark/profiles"
    parser.add_argument("--profile", type=path, metavar="FOLDER", help=profiles)


def main(options: argparse.Namespace) -> int:
    """Write the profile, the run's packets, or both; return 0."""
    if options.run is None and options.profile is None:
        raise BadInputError("found neither a run nor --profile; allowed: one or both")
    if options.profile is not None:
        for name, text in _profile().items():
            write_text(options.profile / PROFILE / name, text)
        print(f"{options.profile / PROFILE}: wireshark -C {PROFILE} FILE shows it")
    if options.run is not None:
        run = run_json.load(options.run)
        file = options.into or Path(f"{run.experiment}-{run.cell}-seed-{run.seed}.pcapng")
        written = pcapng.write(options.run, file)
        places = ", ".join(written.places)
        print(f"{file}: {plural(written.pkts, 'packet')} at {places}; {plural(written.comments, 'comment')}")
    return 0


def _profile() -> dict[str, str]:
    """The profile's files by name. A capture of uTP has its fields at any port."""
    columns = ",\n".join(
        f'\t"{title}", "{content if content.startswith("%") else f"%Cus:{content}:0:R"}"' for title, content in _COLUMNS
    )
    colours = "".join(f"@{name}@{of}@[{','.join(map(str, background))}][0,0,0]\n" for name, of, background in _COLOURS)
    return {
        "preferences": f"gui.column.format:\n{columns}\nnameres.network_name: TRUE\n",
        "heuristic_protos": "bt_utp_udp,1\n",
        "colorfilters": colours,
    }
