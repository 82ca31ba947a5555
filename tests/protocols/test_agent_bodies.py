"""Bodies as today's agents send them: read without a note, all of their text in the count, and
encoded again as the same JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.golden import read as read_cases
from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.compose import Composed, encode
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.common.openai_tools import announced_tools

CASES = Path(__file__).parent / "cases"
BODIES = read_cases(CASES / "agents.json")
"""By the program that sends such a body."""


def body_of(case: dict[str, Any]) -> tuple[Protocol, dict[str, Any]]:
    return Protocol(case["source"]), case["body"]


def read(protocol: Protocol, body: dict[str, Any]) -> tuple[Composed, str]:
    """Return a captured body as the inspector shows it, and its text."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    endpoint = Endpoint("captured", protocol, "http://x.example")
    return read_captured(text, protocol).composed(endpoint), text


def tokens(composed: Composed) -> int:
    assert composed.envelope.budget is not None
    return composed.envelope.budget.total


@each_row("program", BODIES)
def test_a_body_is_read_and_counted_as_a_whole(program: str):
    protocol, body = body_of(BODIES[program])
    composed, text = read(protocol, body)
    assert composed.payload.body.decode() == text
    assert [note.code for note in composed.notes] == []
    assert tokens(composed) >= len(text) / 8
    assert composed.encoded.tree.origin.id != "body", "its parts have their own origins"


def doubled(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield the places of long texts in a body, with a longer one in each."""
    if isinstance(value, str) and len(value) > 150:
        yield path, f"{value} {value}"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from doubled(inner, (*path, key))


@each_row("program", BODIES)
def test_every_text_counts(program: str):
    protocol, body = body_of(BODIES[program])
    before = tokens(read(protocol, body)[0])
    for path, text in doubled(body):
        if path[-1] in ("signature", "thoughtSignature"):
            continue  # proves that the model thought, and is no input
        changed = json.loads(json.dumps(body))
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = text
        assert tokens(read(protocol, changed)[0]) > before, path


def test_announced_tools_are_tools_and_no_message():
    composed, text = read(*body_of(BODIES["Codex"]))
    captured = read_captured(text, Protocol.OPENAI_RESPONSES)
    assert captured.tools[:3] == ("exec", "tool_0", "tool_1")
    assert captured.not_kept[-1] == f"additional_tools ({', '.join(captured.tools)})"
    assert captured.messages[0].role == "user"
    (item,) = announced_tools(composed.envelope.turns[0])
    assert item["type"] == "additional_tools"


@each_row("target", [p for p in Protocol if p is not Protocol.OPENAI_RESPONSES])
def test_another_protocol_gets_the_announced_tools_as_functions(target: Protocol):
    composed, _ = read(*body_of(BODIES["Codex"]))
    converted = encode(composed.envelope, Endpoint("other", target, "http://x.example"))
    sent = json.dumps(json.loads(converted.payload.body)["tools"])
    names = ["exec", *(f"tool_{number}" for number in range(6))]
    assert [name for name in names if f'"{name}"' not in sent] == []
    codes = {note.code for note in converted.notes}
    assert "tool-as-function" in codes  # exec takes free text
    assert "tool-left-out" not in codes


UNKNOWN = read_cases(CASES / "requests" / "unknown_content.json")


@each_row("place", UNKNOWN)
def test_what_is_not_known_is_a_note_and_counts(place: str):
    protocol, body = body_of(UNKNOWN[place])
    composed, text = read(protocol, body)
    assert composed.payload.body.decode() == text
    (note,) = [note for note in composed.notes if note.code == "unknown-content"]
    assert "memory_of_tomorrow" in note.sentence
    assert tokens(composed) >= len(text) / 8
    assert composed.envelope.turns[0].role != "assistant"
