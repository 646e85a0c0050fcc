"""`python -m testbed.site.serve`: a browser gets pages of reports, and no file of a program under test."""

import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from common import sums
from testbed.site.serve import Pages, main

ROOT = Path(__file__).parents[2]
LOG = "runs/today/x/single/seed-1/logs/client.html"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for report in ("report", "quick/report"):
        (tmp_path / report).mkdir(parents=True)
        with sums.replacing(tmp_path / report) as draft:
            (draft / "index.html").write_text(f"<title>{report}</title>")
            (draft / "figures").mkdir()
            (draft / "figures/a b.svg").write_text("<svg/>")
        (tmp_path / report / "notes.html").write_text("<script>alert(1)</script>")
    (tmp_path / LOG).parent.mkdir(parents=True)
    (tmp_path / LOG).write_text("<script>alert(1)</script>")
    (tmp_path / "report/linked.html").symlink_to(tmp_path / LOG)
    return tmp_path


@pytest.fixture
def server(results: Path) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, results=results)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(server: ThreadingHTTPServer, place: str, method: str = "GET") -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.request(method, place)
    answer = connection.getresponse()
    told = answer.headers.get("Location") or answer.headers.get("Content-Type") or ""
    return answer.status, told, answer.read().decode()


def test_pages_of_reports_are_served(server: ThreadingHTTPServer, results: Path) -> None:
    assert asked(server, "/") == (302, "/report/index.html", "")
    assert asked(server, "/report/index.html?x#y") == (200, "text/html", "<title>report</title>")
    assert asked(server, "/quick/report/figures/a%20b.svg") == (200, "image/svg+xml", "<svg/>")
    assert asked(server, "/report/index.html", "HEAD") == (200, "text/html", "")
    (results / "report/index.html").unlink()
    assert asked(server, "/")[:2] == (302, "/quick/report/index.html")


@pytest.mark.parametrize(
    "place",
    [
        f"/{LOG}",
        f"/report/../{LOG}",
        f"/report/..%2f{LOG}",
        f"//{LOG}",
        "/report/notes.html",
        "/report/linked.html",
        "/report",
        "/report/",
        "/report/figures/",
        "/report/SHA256SUMS",
        "/quick",
        "/../../../etc/passwd",
        "/report/%00",
        "/report/%ff",
        f"/report/{'x' * 5000}",
    ],
)
def test_nothing_else_is_served(server: ThreadingHTTPServer, place: str) -> None:
    status, _, text = asked(server, place)
    assert status == 404
    assert "alert" not in text and "root:" not in text


def test_a_damaged_page_is_not_served(server: ThreadingHTTPServer, results: Path) -> None:
    (results / "report/index.html").write_text("<title>another</title>")
    assert asked(server, "/report/index.html")[0] == 404
    assert asked(server, "/report/index.html", "POST")[0] == 501


def test_the_page_of_threats_says_which_port_is_open() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    opened = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert opened == {"report": ["127.0.0.1:8000:8000"]}
    assert "testbed.site.serve" in services["report"]["entrypoint"]
    page = (ROOT / "docs/explanation/threat-model.md").read_text()
    assert "opens no port, except for `docker-compose up report`: port 8000 of 127.0.0.1" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{here}/nosuch"], "found no folder; allowed: a folder of results"),
        (["{here}", "--port", "99999"], "allowed: an address of this host and a free port"),
        (["{here}", "--address", "192.0.2.1"], "allowed: an address of this host and a free port"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([word.format(here=tmp_path) for word in words])
    assert said in capsys.readouterr().err
