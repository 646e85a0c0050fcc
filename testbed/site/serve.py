"""`python -m testbed.site.serve RESULTS`: the pages of reports to a browser, and nothing else below RESULTS.

Runs below it have logs and captures, whose bytes and names are those of the programs under test. So a page is what the
report's writer left there with its sum; anything else is not found.
"""

import argparse
import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from common import sums
from common.arguments import path
from common.sums import DamagedError

REPORTS: Final = (PurePosixPath("report"), PurePosixPath("quick/report"))
"""Folders of results that are reports."""
PORT: Final = 8000


class Pages(SimpleHTTPRequestHandler):
    """Serves the files of reports that have a sum; `/` leads to the first report that is there."""

    def __init__(self, *request: object, results: Path) -> None:
        self._results = results
        super().__init__(*request)  # type: ignore[arg-type]  # what the server gives

    def send_head(self) -> None:
        """Answer GET and HEAD."""
        asked = PurePosixPath(unquote(urlsplit(self.path).path).lstrip("/"))
        if asked == PurePosixPath():
            self._lead_to_a_report()
            return
        content = self._page(asked)
        if content is None:
            self.send_error(
                HTTPStatus.NOT_FOUND, "no page of a report", "Runs, captures and logs are on the disk only."
            )
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(asked.name))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _page(self, asked: PurePosixPath) -> bytes | None:
        for report in REPORTS:
            if asked.is_relative_to(report):
                name = asked.relative_to(report).as_posix()
                try:
                    return sums.checked(self._results / report, name).read_bytes()
                except (DamagedError, OSError, ValueError):
                    return None
        return None

    def _lead_to_a_report(self) -> None:
        there = [report for report in REPORTS if (self._results / report / "index.html").exists()]
        if not there:
            self.send_error(HTTPStatus.NOT_FOUND, "no report yet")
            return
        self.send_response(HTTPStatus.FOUND)
        self.send_header("Location", f"/{there[0]}/index.html")
        self.send_header("Content-Length", "0")
        self.end_headers()


def main(words: list[str] | None = None) -> int:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m testbed.site.serve", description="Reports to a browser.")
    parser.add_argument("results", type=path, metavar="RESULTS", help="folder of results")
    parser.add_argument("--address", default="127.0.0.1", help="default: %(default)s, which only this host reaches")
    parser.add_argument("--port", type=int, default=PORT, help="default: %(default)s")
    options = parser.parse_args(words)
    if not options.results.is_dir():
        parser.error(f"{options.results}: found no folder; allowed: a folder of results")
    try:
        server = ThreadingHTTPServer((options.address, options.port), partial(Pages, results=options.results))
    except (OSError, OverflowError) as error:
        parser.error(f"{options.address}:{options.port}: {error}; allowed: an address of this host and a free port")
    with server:
        print(f"reports of {options.results} on http://{options.address}:{options.port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
