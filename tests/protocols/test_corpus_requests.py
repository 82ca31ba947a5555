"""Recorded requests and hard conversations from outside the project, where they are at hand.

See `tests.support.corpus` for where they lie.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests.support.corpus import CORPUS, ORACLE, RECORDED, oracle, read
from tests.support.requests import CHAT, OLLAMA, converted
from tests.support.strategies import histories, presets
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset

pytestmark = pytest.mark.skipif(not ORACLE.is_file(), reason=f"no corpus at {CORPUS}")

CASES = sorted((CORPUS / "cases").glob("*.json"))


@each_row(
    ("protocol", "path"),
    RECORDED,
    ids=[f"{p.value}-{f.name[:-13]}" for p, f in RECORDED],
    absent="there is no corpus here",
)
def test_a_recorded_request_round_trips(protocol: Protocol, path: Path) -> None:
    body = read(path)
    assert converted(body, protocol, source=protocol)[0] == body


MODELS = {
    Protocol.OPENAI_CHAT: ["gpt-5"],
    Protocol.OPENAI_RESPONSES: ["gpt-5"],
    Protocol.ANTHROPIC: ["claude-haiku-4-5", "claude-opus-4-8"],
    Protocol.GEMINI: ["gemini-2.5-pro", "gemini-3-pro"],
    OLLAMA: ["qwen3:8b"],
}


@each_row(
    ("protocol", "path"),
    RECORDED,
    ids=[f"{p.value}-{f.name[:-13]}" for p, f in RECORDED],
    absent="there is no corpus here",
)
def test_a_recorded_request_is_valid_in_every_other_protocol(
    protocol: Protocol, path: Path
) -> None:
    body = read(path)
    for target in Protocol:
        for model in MODELS[target] if target is not protocol else ():
            sent, _ = converted(body, target, source=protocol, model=model)
            assert oracle(target, sent, model) == []


@each_row("target", list(Protocol))
@each_row("path", CASES, ids=[path.stem for path in CASES], absent="there is no corpus here")
def test_a_hard_conversation_keeps_its_content(path: Path, target: Protocol) -> None:
    case = read(path)
    body, notes = converted(case["request"], target)
    errors = oracle(target, body)
    if target is CHAT and body == case["request"]:
        # Sent as it was, unknown keys included; a note says that OpenAI would refuse them.
        assert not errors or notes
        return
    assert errors == []
    text = json.dumps(body, ensure_ascii=False).replace("\\u0000", "\0")
    source = json.dumps(case["request"], ensure_ascii=False).replace("\\u0000", "\0")
    lost = [marker for marker in case["must_keep"] if marker not in text]
    places = [text.find(m) for m in sorted(case["must_keep"], key=source.find)]
    assert notes or not lost
    assert notes or places == sorted(places) or "shuffled" in case["title"]


@given(presets(), histories())
def test_presets_with_cache_marks_make_valid_requests(
    preset: Preset, history: tuple[Message, ...]
) -> None:
    to = Endpoint("e", Protocol.ANTHROPIC, "https://e", models=("claude-sonnet-4-5",))
    request = compose(Inputs(to, preset, history, "draft"))
    assert oracle(Protocol.ANTHROPIC, json.loads(request.payload.body), request.model) == []
