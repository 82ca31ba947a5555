"""Recorded requests and hard conversations from outside the project, where they are at hand.

`TUI_CHAT_CORPUS` names their folder, else `../shared/corpus` is looked for. Beside it stands
`oracles/validate_payload.py`, which holds a body against the official SDKs and wire rules.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.protocols.requests import CHAT, OLLAMA, converted
from tests.protocols.sdk_types import accept
from tests.strategies import histories, presets
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset

HERE = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", HERE.parent / "shared" / "corpus"))
ORACLE = CORPUS.parent / "oracles" / "validate_payload.py"

pytestmark = pytest.mark.skipif(not ORACLE.is_file(), reason=f"no corpus at {CORPUS}")

RECORDED = [
    (protocol, path)
    for protocol in Protocol
    for path in sorted((CORPUS / "wire" / protocol).glob("*.request.json"))
    if path.read_bytes().strip() != b"null"  # the request was not JSON
]
CASES = sorted((CORPUS / "cases").glob("*.json"))


@pytest.fixture(scope="module")
def oracle() -> Callable[..., list[dict[str, str]]]:
    spec = importlib.util.spec_from_file_location("validate_payload", ORACLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["validate_payload"] = module
    spec.loader.exec_module(module)

    def errors(protocol: Protocol, body: Any, model: str = "") -> list[dict[str, str]]:
        if protocol is OLLAMA:  # the oracle does not know it
            try:
                accept(protocol, body)
            except ValueError as error:
                return [{"level": "error", "message": str(error)}]
            return []
        # The server takes the sampling settings that the SDK's newest types lack; which models
        # take them is held in test_encode_settings.
        found = module.validate(protocol.value, body, model, legacy=True)
        return [f for f in found if f["level"] == "error"]

    return errors


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("protocol", "path"), RECORDED, ids=[f"{p.value}-{f.name[:-13]}" for p, f in RECORDED]
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


@pytest.mark.parametrize(
    ("protocol", "path"), RECORDED, ids=[f"{p.value}-{f.name[:-13]}" for p, f in RECORDED]
)
def test_a_recorded_request_is_valid_in_every_other_protocol(
    protocol: Protocol, path: Path, oracle: Callable[..., list[dict[str, str]]]
) -> None:
    body = read(path)
    for target in Protocol:
        for model in MODELS[target] if target is not protocol else ():
            sent, _ = converted(body, target, source=protocol, model=model)
            assert oracle(target, sent, model) == []


@pytest.mark.parametrize("target", list(Protocol))
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_hard_conversation_keeps_its_content(
    path: Path, target: Protocol, oracle: Callable[..., list[dict[str, str]]]
) -> None:
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
    oracle: Callable[..., list[dict[str, str]]], preset: Preset, history: tuple[Message, ...]
) -> None:
    to = Endpoint("e", Protocol.ANTHROPIC, "https://e", models=("claude-sonnet-4-5",))
    request = compose(Inputs(to, preset, history, "draft"))
    assert oracle(Protocol.ANTHROPIC, json.loads(request.payload.body), request.model) == []
