"""Requests, replies and settings of the corpus."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.support.corpus import CORPUS, ORACLE, RECORDED, oracle, read
from tests.support.reply_streams import fold, parse, sse_events
from tests.support.requests import CHAT, OLLAMA, converted
from tests.support.strategies import histories, presets
from tests.support.tables import each_row
from tui_chat.cli.captured import convert
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import Refused
from tui_chat.models.blocks import form_of, keys_of
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import PROTOCOLS


@dataclass(frozen=True)
class Recording:
    protocol: str
    name: str
    body: bytes
    is_stream: bool
    status: int
    expected: dict[str, Any]

    def read(self) -> Reply:
        definition = PROTOCOLS[Protocol(self.protocol)]
        if self.status >= 400:
            raise response_error(self.status, self.body)
        if self.is_stream:
            return fold(parse(definition.parser(), sse_events(self.body)))
        return definition.read_reply(self.body)


def _recordings() -> list[Recording]:
    found: list[Recording] = []
    for path in sorted((CORPUS / "wire").glob("*/*.expected.json")):
        recording = json.loads(path.read_bytes())
        name = path.name.removesuffix(".expected.json")
        for kind in ("sse", "json"):
            answer = path.with_name(f"{name}.response.{kind}")
            if answer.exists():
                found.append(
                    Recording(
                        path.parent.name,
                        name,
                        answer.read_bytes(),
                        kind == "sse",
                        recording["meta"].get("http_status") or 200,
                        recording["expected"],
                    )
                )
    return found


RECORDINGS = _recordings()

if not RECORDINGS:
    pytest.skip(f"no recordings under {CORPUS / 'wire'}", allow_module_level=True)


def _cases(*, errors: bool) -> list[Any]:
    chosen = [r for r in RECORDINGS if bool(r.expected.get("error")) is errors]
    return [pytest.param(r, id=f"{r.protocol}/{r.name}") for r in chosen]


def _turns(recording: Recording) -> int:
    """How many answers stand in one file: some fixtures hold several, one after another."""
    starts = (b'"type":"message_start"', b'"type":"response.created"')
    return max(map(recording.body.count, starts)) if recording.is_stream else 1


@each_row("recording", _cases(errors=False))
def test_reads_as_recorded(recording: Recording) -> None:
    expected = recording.expected
    reply = recording.read()

    assert reply.id == (expected["id"] or "")
    assert reply.model == (expected["model"] or "")
    if recording.protocol == "anthropic" and _turns(recording) > 1:
        # The SDK adds later messages to the blocks of the first by index, which jumbles them.
        assert not Counter(expected["text"]) - Counter(reply.text)
        assert {c["id"] for c in expected["tool_calls"]} <= {c.id for c in reply.calls}
    else:
        assert reply.text == expected["text"]
        assert _calls(recording, reply) == _expected_calls(recording)
    assert str(reply.refusal) == (expected.get("refusal") or "")
    assert _thought(recording, reply) == expected["thinking"]
    assert _signatures(recording, reply) == sorted(
        s["sha256"] for s in expected.get("signatures", ())
    )
    assert reply.finish is not None
    raw = expected["finish_reason"]
    if recording.protocol == "gemini" and raw is None:
        raw = expected["prompt_feedback"]["block_reason"]
    assert reply.finish.raw == (raw or "")
    if expected["usage"] is not None or b'"usage":{' not in recording.body:
        # The SDK forgets the usage where a moderation chunk with `"usage": null` comes after it.
        assert reply.usage == _usage(recording)


@each_row("recording", _cases(errors=True))
def test_errors_keep_the_providers_message(recording: Recording) -> None:
    with pytest.raises(Refused) as raised:
        recording.read()
    error = recording.expected["error"]
    words = " ".join((error.get("message") or "").split())
    assert words[:500] in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.status == (None if recording.status == 200 else recording.status)
    code = error.get("status") if recording.protocol == "gemini" else error.get("code")
    if isinstance(code, str):
        assert raised.value.code == code
    elif error.get("type"):
        assert raised.value.code == error["type"]


def _thought(recording: Recording, reply: Reply) -> str:
    if recording.protocol == "openai_responses":
        # The SDK's reading leaves out reasoning that is not a summary.
        blocks = [b for b in reply.reasoning if form_of(b, Protocol.OPENAI_RESPONSES) != "content"]
        return "\n\n".join(text for b in blocks if (text := str(b.text)))
    return "".join(str(b.text) for b in reply.reasoning)


def _calls(recording: Recording, reply: Reply) -> list[tuple[str, str, Any]]:
    if recording.protocol.startswith("openai"):
        return [(c.id, c.name, str(c.arguments)) for c in reply.calls]
    return [(c.id, c.name, json.loads(str(c.arguments))) for c in reply.calls]


def _expected_calls(recording: Recording) -> list[tuple[str, str, Any]]:
    calls = recording.expected["tool_calls"]
    if recording.protocol.startswith("openai"):
        return [(c["id"], c["name"], c["arguments"]) for c in calls]
    if any(c.get("partial") for c in calls):
        return _from_partial_arguments(recording)
    return [(c["id"] or "", c["name"], c["args"]) for c in calls]


def _from_partial_arguments(recording: Recording) -> list[tuple[str, str, Any]]:
    """Put the calls of a Vertex stream together in the plainest way; the SDK does not."""
    calls: list[tuple[str, str, Any]] = []
    for _, data in sse_events(recording.body):
        for part in json.loads(data)["candidates"][0].get("content", {}).get("parts", ()):
            call = part.get("functionCall", {})
            if "name" in call:
                calls.append((call.get("id", ""), call["name"], {}))
            for piece in call.get("partialArgs", ()):
                _set(calls[-1][2], piece)
    return calls


def _set(args: Any, piece: dict[str, Any]) -> None:
    path = piece["jsonPath"].removeprefix("$.").replace("[", ".[").split(".")
    for step, following in zip(path, [*path[1:], ""], strict=True):
        if following:
            fresh: Any = [] if following.startswith("[") else {}
        else:
            fresh = next(v for k, v in piece.items() if k.endswith("Value"))
        key: Any = int(step[1:-1]) if step.startswith("[") else step
        known = len(args) > key if isinstance(key, int) else key in args
        if known and not following:
            args[key] += fresh
        elif not known and isinstance(key, int):
            args.append(fresh)
        elif not known:
            args[key] = fresh
        args = args[key]


def _signatures(recording: Recording, reply: Reply) -> list[str]:
    """Return the digests of what the recordings call signatures."""
    if recording.protocol == "gemini":
        blocks = reply.message(Protocol.GEMINI).blocks
        signatures = [keys_of(block).get("thoughtSignature") for block in blocks]
        values = [base64.b64decode(s) for s in signatures if s]
    elif recording.protocol == "anthropic":
        values = [
            value.encode()
            for b in reply.message(Protocol.ANTHROPIC).reasoning
            if (value := b.encrypted or keys_of(b).get("signature"))
        ]
    else:
        values = []
    return sorted(hashlib.sha256(value).hexdigest() for value in values)


def _usage(recording: Recording) -> Usage:
    norm = recording.expected["usage_norm"]
    given, output = norm["input"], norm["output"]
    cached, written, reasoning = norm["cached"], norm.get("cache_write"), norm["reasoning"]
    if recording.protocol == "anthropic" and given is not None:
        given += (cached or 0) + (written or 0)  # counted apart there, all input here
    if recording.protocol == "gemini" and (output, reasoning) != (None, None):
        output = (output or 0) + (reasoning or 0)  # thoughts are counted apart there
    raw = recording.expected.get("usage") or {}
    if recording.protocol == "openai_chat" and reasoning:
        output = raw["total_tokens"] - given if _apart(raw) else output
    if recording.protocol.startswith("openai"):
        details = raw.get("prompt_tokens_details") or raw.get("input_tokens_details") or {}
        written = details.get("cache_write_tokens")
        cached = raw.get("cached_tokens", cached)  # Kimi's place
    return Usage(given, output, cached, written, reasoning)


def _apart(raw: dict[str, Any]) -> bool:
    """Whether reasoning is counted beside the completion, as xAI does."""
    reasoning = raw["completion_tokens_details"]["reasoning_tokens"]
    return raw["total_tokens"] == raw["prompt_tokens"] + raw["completion_tokens"] + reasoning


@pytest.mark.parametrize(
    "recording",
    [p for p in _cases(errors=False) if b'"logprobs":[{"token"' in p.values[0].body],
)
def test_recorded_tokens_make_the_text(recording: Recording) -> None:
    reply = recording.read()
    tokens = unpack_tokens(str(reply.tokens))

    assert "".join(token.text for token in tokens) == reply.text


# --- Recorded requests and hard conversations from outside the project, where they are at hand


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


# --- Settings from one protocol to another, as cases from outside the project expect them -


SETTINGS = sorted((CORPUS / "settings").glob("*.json"))
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


@each_row("path", SETTINGS, ids=lambda path: path.stem, absent="there is no corpus here")
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
