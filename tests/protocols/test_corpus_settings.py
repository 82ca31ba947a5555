"""Settings from one protocol to another, as cases from outside the project expect them.

See `tests.support.corpus` for where they lie.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import CORPUS, ORACLE, oracle, read
from tests.support.tables import each_row
from tui_chat.cli.captured import convert
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level

pytestmark = pytest.mark.skipif(not ORACLE.is_file(), reason=f"no corpus at {CORPUS}")

CASES = sorted((CORPUS / "settings").glob("*.json"))
_ABSENT = object()


def value_at(body: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict) and key in body:
            body = body[key]
        else:
            return _ABSENT
    return body


@each_row("path", CASES, ids=lambda path: path.stem, absent="there is no corpus here")
def test_a_setting_is_carried_over(path: Path) -> None:
    case = read(path)
    source, target = Protocol(case["from"]), Protocol(case["to"])
    converted, notes = convert(
        json.dumps(case["request"]).encode(),
        source,
        Endpoint("convert", target, ""),
        model=case["model"],
    )
    body = json.loads(converted)
    for place, expected in case["expect"].items():
        expected = _ABSENT if expected == {"absent": True} else expected
        assert value_at(body, place) == expected, place
    if case["note_codes_any"] is None:
        assert [note for note in notes if note.level is not Level.INFO] == []
    else:
        assert {note.code for note in notes} & set(case["note_codes_any"])
    assert oracle(target, body, case["model"]) == []
