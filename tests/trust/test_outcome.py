"""What a guest may say of itself, and what is refused in one sentence."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from engine import outcome
from engine.errors import EngineError

FAILED: dict[str, Any] = {"status": "failed", "error": "why", "virtual_ns": 5}
REFUSED: dict[str, tuple[Any, str]] = {
    "no JSON": ("{x", r"guest\.json: found no JSON"),
    "no text": (b"\xff\xfe{", r"guest\.json: found no JSON"),
    "deep nesting": ("[" * 100_000, r"guest\.json: (found values nested without end|found no JSON)"),
    "nesting": ({**FAILED, "probe": {"a": {"b": [[[[[[[[[[[[1]]]]]]]]]]]]}}}, r"probe\.a\.b: found values nested too"),
    "null": (None, r"guest\.json: \(whole file\): found null; allowed: fields below it"),
    "a missing field": ({"status": "failed", "error": "why"}, r"virtual_ns: it is missing"),
    "a run that is done without flows": ({**FAILED, "status": "ok"}, r"ended_ns: it is missing"),
    "a failure without reason": ({**FAILED, "error": None}, r"error: found null; allowed: a text"),
    "infinity": ('{"status": "failed", "error": "", "virtual_ns": Infinity}', r"virtual_ns: found a number without"),
    "no number": ('{"status": "failed", "error": "", "virtual_ns": NaN}', r"virtual_ns: found a number without"),
    "10^400": (json.dumps({**FAILED, "virtual_ns": 10**400}), r"virtual_ns: found a number without bound"),
    "1e400": ('{"status": "failed", "error": "", "virtual_ns": 1e400}', r"virtual_ns: found a number without bound"),
    "10^5000": ('{"a": [1' + "0" * 5000 + "]}", r"a\[0\]: found a number without bound; allowed: numbers up to 92"),
    "a negative time": ({**FAILED, "virtual_ns": -1}, r"virtual_ns: found -1; allowed: a whole number from 0"),
    "a fraction": ({**FAILED, "virtual_ns": 1.5}, r"virtual_ns: found 1\.5; allowed: a whole number from 0"),
    "a truth for a number": ({**FAILED, "virtual_ns": True}, r"virtual_ns: found true; allowed: a whole number"),
    "a huge text": ({**FAILED, "error": "x" * 100_000}, r"error: found a text of 100000 characters; allowed: at most"),
    "a huge file": ("x" * (17 << 20), r"guest\.json: found something else; allowed: a regular file of at most 16 MiB"),
    "a list for flows": ({**FAILED, "flows": []}, r"flows: found \[\]; allowed: fields below it"),
    "bytes that are text": (
        {**FAILED, "flows": {"tcp": {"received_bytes": "many"}}},
        r'flows\.tcp\.received_bytes: found "many"; allowed: a whole number from 0, or null',
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(tmp_path: Path, what: str) -> None:
    said, words = REFUSED[what]
    file = tmp_path / "guest.json"
    text = said if isinstance(said, str) else json.dumps(said) if not isinstance(said, bytes) else said
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EngineError, match=r"the testbed refuses what the guest says: " + f".*{words}") as refused:
        outcome.read(file, outcome.RUN)
    assert len(str(refused.value)) < 300 and re.search(r"guest\.json", str(refused.value))


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "guest.json", tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(FAILED))
    os.mkfifo(file)
    with pytest.raises(EngineError, match=r"guest\.json: found something else; allowed: a regular file"):
        outcome.read(file, outcome.RUN)
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.raises(EngineError, match=r"guest\.json: found what cannot be read"):
        outcome.read(file, outcome.RUN)
    file.unlink()
    assert outcome.read(file, outcome.RUN) is None


def test_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "guest.json"
    file.write_text(json.dumps(FAILED | {"anything": {"else": [1, 2.5, "three"]}}))
    assert outcome.read(file, outcome.RUN) == FAILED | {"anything": {"else": [1, 2.5, "three"]}}
    file.write_text(json.dumps(FAILED | {"ended_ns": -4_999_655_168}))  # an endpoint failed before the scenario's zero
    assert outcome.read(file, outcome.RUN)
    file.write_text('{"exit_status": 256, "virtual_ns": 1}')
    with pytest.raises(EngineError, match=r"exit_status: found 256; allowed: a whole number, 0 to 255"):
        outcome.read(file, outcome.SCRIPT)
