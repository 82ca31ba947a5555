"""Cache marks that a preset places: where they land in a request, and where they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.requests import body_of, converted, decoded, encoded, endpoint
from tests.support.tables import each_row
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.payload import render
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Profile
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.text import OriginKind
from tui_chat.protocols.registry import protocol_of

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
TALK = tuple(Message("assistant" if n % 2 else "user", f"h{n}", f"{n}") for n in range(4))


def line(content: str, mark: Any = "5m", role: Any = "user", **where: Any) -> PresetMessage:
    return PresetMessage(content, role, content, cache_control=mark, **where)


def history(mark: Any = "5m") -> PresetMessage:
    return PresetMessage("history", "user", type="chat_history", cache_control=mark)


def composed(
    *messages: PresetMessage,
    protocol: Protocol = Protocol.ANTHROPIC,
    talk: tuple[Message, ...] = TALK,
    fallback: str = "hoist",
    **inputs: Any,
) -> Composed:
    facts = (("m", ModelFacts(mid_history_system=False)),)
    to = Endpoint("e", protocol, "https://e", models=("m",), facts=facts, system_fallback=fallback)  # type: ignore[arg-type]
    preset = Preset("p", messages, system_placement="in_place")
    return compose(Inputs(to, preset, talk, **{"draft": "D", **inputs}))


def marks(request: Composed) -> dict[str, Any]:
    """Return the marks of a body, by the words of the block (or the id of the result)."""
    body = json.loads(request.payload.body)
    found: dict[str, Any] = {}
    for holder in ({"content": body.get("system") or []}, *body["messages"]):
        for block in holder["content"] if isinstance(holder["content"], list) else ():
            if "cache_control" in block:
                words = block.get("text") or block.get("tool_use_id") or block.get("id")
                found[words] = block["cache_control"]
    return found


def codes(request: Composed) -> list[str]:
    return [note.code for note in request.notes if "cache-mark" in note.code]


def test_a_mark_moves_with_its_message() -> None:
    request = composed(
        line("S", role="system"), history(None), line("A", insertion_point=1, mark="5m"), line("Z")
    )
    assert marks(request) == {"S": MARK, "A": MARK, "Z": MARK}
    assert codes(request) == []
    profile = PresetMessage("me", type="user_profile", role="user", cache_control="5m")
    assert marks(composed(profile, profile=Profile("Ann", "is tall"))) == {"is tall": MARK}
    assert marks(composed(line("S", mark=None), history(None))) == {}


def test_the_history_mark_is_on_the_newest_stable_message() -> None:
    assert marks(composed(history())) == {"h3": MARK}
    note = line("N", mark=None, insertion_point=-3)
    assert marks(composed(history(), note)) == {"h1": MARK}
    still = line("N", mark=None, insertion_point=1)
    assert marks(composed(history(), still)) == {"h3": MARK}
    assert marks(composed(history(), talk=())) == {}
    assert marks(composed(history(), talk=(*TALK, Message("user", " ", "b")))) == {"h3": MARK}


def test_the_mark_moves_on_and_the_turns_stay_the_same() -> None:
    lines = (history(),)
    one, two = composed(*lines), composed(*lines, draft="DD")
    assert [a is b for a, b in zip(one.envelope.turns, two.envelope.turns, strict=True)] == [
        *(True,) * 4,
        False,
    ]
    longer = composed(*lines, talk=(*TALK, Message("user", "h4", "4")))
    assert marks(longer) == {"h4": MARK}


def test_a_mark_names_the_line_that_placed_it() -> None:
    regions = composed(history()).payload.regions()
    sent_marks = [r for r in regions if r.piece.text == "ephemeral"]
    assert [r.piece.origin.within.id for r in sent_marks if r.piece.origin.within] == ["history"]
    assert sent_marks[0].piece.origin.kind is OriginKind.PRESET


def test_calls_and_results_take_marks_and_thinking_takes_none() -> None:
    thought = ReasoningBlock(Protocol.ANTHROPIC, "hm", "sig")
    call = Message(
        "assistant",
        "",
        "c",
        tool_calls=(ToolCall("call", "f", "{}"),),
        semantics=MessageSemantics(reasoning=(thought,)),
    )
    result = Message("tool", "done", "r", tool_call_id="call")
    assert marks(composed(history(), talk=(TALK[0], call, result))) == {"call": MARK}
    pinned = line("N", mark=None, insertion_point=-2)
    assert list(marks(composed(history(), pinned, talk=(TALK[0], call, result)))) == ["call"]
    only = Message("assistant", "x", "c", semantics=MessageSemantics(reasoning=(thought,)))
    assert marks(composed(history(), talk=(TALK[0], only))) == {"x": MARK}


def test_of_more_than_four_marks_the_last_four_are_sent_with_a_note() -> None:
    request = composed(*(line(f"{n}") for n in range(6)), history(None))
    assert marks(request) == {f"{n}": MARK for n in range(2, 6)}
    left_out = [n.origin.id for n in request.notes if n.code == "cache-mark-left-out" and n.origin]
    assert left_out == ["0", "1"]


@pytest.mark.parametrize("fallback", ["hoist", "user"])
def test_an_hour_never_follows_five_minutes(fallback: str) -> None:
    hours_first = composed(line("S", "1h", "system"), history(), fallback=fallback)
    assert marks(hours_first) == {"S": HOUR, "h3": MARK}
    mixed = composed(line("A"), line("B", "1h"), history("1h"), fallback=fallback)
    assert marks(mixed) == {"A": MARK, "B": MARK, "h3": MARK}
    assert codes(mixed) == ["cache-mark-shortened"] * 2
    hoisted = composed(line("A", "1h"), history(None), line("S", "5m", "system"), fallback=fallback)
    assert marks(hoisted) == {"A": MARK, "S": MARK}


@each_row("protocol", [p for p in Protocol if p is not Protocol.ANTHROPIC])
def test_protocols_without_marks_get_none_with_one_note(protocol: Protocol) -> None:
    bare = composed(line("S", None, "system"), history(None), protocol=protocol)
    request = composed(line("S", role="system"), history(), protocol=protocol)
    assert request.payload.body == bare.payload.body
    assert codes(request) == ["cache-mark-left-out"]


def test_a_marked_request_comes_back_from_its_bytes() -> None:
    request = composed(line("S", "1h", "system"), history(), line("Z"))
    anthropic = protocol_of(Protocol.ANTHROPIC)
    again = anthropic.encode(anthropic.decode(request.payload.body), request.endpoint)
    assert json.loads(render(again.tree).body) == json.loads(request.payload.body)


def test_a_system_turn_that_was_shortened_shortens_what_it_is_moved_in_front_of():
    request = composed(line("U", "1h"), history("5m"), line("S", "1h", "system"), talk=TALK[:1])
    assert set(map(str, marks(request).values())) == {str(MARK)}
    assert set(marks(request)) == {"U", "h0", "S"}


BREAKPOINT = {"mode": "explicit"}


@pytest.mark.parametrize("protocol", [Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES])
def test_models_of_openai_that_accept_breakpoints_get_the_last_four(protocol: Protocol) -> None:
    to = Endpoint("e", protocol, "https://e", models=("gpt-5.6",))
    lines = (*(line(f"l{n}") for n in range(5)), line("no", None))
    request = compose(Inputs(to, Preset("p", lines), draft="D"))
    body = json.loads(request.payload.body)
    sent = body["messages" if protocol is Protocol.OPENAI_CHAT else "input"]
    marked = {
        part["text"]: part["prompt_cache_breakpoint"]
        for message in sent
        if isinstance(message["content"], list)
        for part in message["content"]
    }
    assert marked == {f"l{n}": BREAKPOINT for n in range(1, 5)}
    assert [message["content"] for message in sent if isinstance(message["content"], str)] == [
        "l0", "no", "D",
    ]  # fmt: skip
    assert codes(request) == ["cache-mark-left-out"]
    assert "setting-changed" in {note.code for note in request.notes}


def test_breakpoints_of_openai_become_marks_of_anthropic_and_stay_at_home() -> None:
    parts = [
        {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": t}}
        for t in ("12h", "30m")
    ]
    message = {"role": "user", "content": parts}
    body = {"model": "gpt-5.6", "messages": [message]}
    assert converted(body, Protocol.OPENAI_CHAT)[0] == body
    sent, notes = converted(body, Protocol.ANTHROPIC)
    assert [part["cache_control"] for part in sent["messages"][0]["content"]] == [HOUR, MARK]
    assert notes == []
    assert converted(body, Protocol.GEMINI)[1] == []


def test_marks_of_anthropic_become_breakpoints_for_models_that_accept_them() -> None:
    block = {"type": "text", "text": "long", "cache_control": HOUR}
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 99,
        "system": [block],
        "messages": [{"role": "user", "content": [block, {"type": "text", "text": "short"}]}],
    }
    sent, _ = converted(body, Protocol.OPENAI_CHAT, source=Protocol.ANTHROPIC, model="gpt-5.6")
    system, user = sent["messages"]
    assert [part["prompt_cache_breakpoint"] for part in system["content"]] == [BREAKPOINT]
    assert ["prompt_cache_breakpoint" in part for part in user["content"]] == [False, True]
    older, _ = converted(body, Protocol.OPENAI_CHAT, source=Protocol.ANTHROPIC, model="gpt-5.5")
    assert "breakpoint" not in json.dumps(older)


def breakpoints(
    protocol: Protocol, *messages: Any, source: Protocol = Protocol.ANTHROPIC
) -> tuple[int, list[str]]:
    """Return how many marks of a captured request are sent, and what the notes say of marks."""
    envelope = decoded({"max_tokens": 99, "messages": messages}, source, "gpt-5.6")
    out = encoded(envelope, protocol, endpoint(protocol, "gpt-5.6"))
    body = json.dumps(body_of(out))
    sent = body.count("prompt_cache_breakpoint") + body.count("cache_control")
    return sent, [note.sentence for note in out.notes if "ache mark" in note.sentence]


def marked(count: int, role: str = "user") -> dict[str, Any]:
    return {
        "role": role,
        "content": [{"type": "text", "text": "w", "cache_control": MARK}] * count,
    }


@pytest.mark.parametrize("protocol", [Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES])
def test_notes_on_marks_count_what_a_message_of_openai_sends(protocol: Protocol) -> None:
    label = protocol.label
    form = f"Cache marks are sent in the form of {label}, at the end of their messages; a prompt "
    form += "is kept for half an hour at least."
    one = f"{label} is sent one cache mark for a message, at its end; "
    assert breakpoints(protocol, marked(5)) == (
        1,
        [form, f"{one}4 of 5 in this message are left out."],
    )
    assert breakpoints(protocol, marked(1)) == (1, [form])
    more = (marked(1), {"role": "assistant", "content": "x"}) * 4
    assert breakpoints(protocol, *more, marked(2)) == (
        4,
        [
            form,
            f"{label} accepts 4 cache marks, and later ones save more; this one is left out.",
            f"{one}1 of 2 in this message are left out.",
        ],
    )


def test_a_mark_that_a_message_of_openai_cannot_hold_is_left_out_with_a_note() -> None:
    said = ({"role": "user", "content": "x"}, marked(1, "assistant"))
    sent, sentences = breakpoints(Protocol.OPENAI_CHAT, *said)
    assert (sent, len(sentences)) == (1, 1)
    refused = "OpenAI Responses accepts no cache mark in this message; this one is left out."
    assert breakpoints(Protocol.OPENAI_RESPONSES, *said) == (0, [refused])
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "cache_control": MARK}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    called = ({"role": "user", "content": "x"}, {"role": "assistant", "content": [use]})
    done = {"role": "user", "content": [result]}
    refused = "OpenAI Chat accepts no cache mark in this message; this one is left out."
    assert breakpoints(Protocol.OPENAI_CHAT, *called, done) == (0, [refused])


def test_notes_on_marks_of_anthropic_count_those_of_one_message() -> None:
    accepts = "Anthropic accepts 4 cache marks, and later ones save more; "
    lost = f"{accepts}2 of 6 in this message are left out."
    assert breakpoints(Protocol.ANTHROPIC, marked(6), source=Protocol.OPENAI_CHAT) == (4, [lost])


def test_cache_options_that_only_responses_has_are_changed_or_left_out_with_notes() -> None:
    options = {"mode": "explicit", "ttl": "12h", "prewarm": True}
    body = {"model": "gpt-5.6", "input": "hi", "prompt_cache_options": options}
    envelope = protocol_of(Protocol.OPENAI_RESPONSES).decode(json.dumps(body).encode())
    out = protocol_of(Protocol.OPENAI_CHAT).encode(
        envelope, Endpoint("e", Protocol.OPENAI_CHAT, "https://e")
    )
    sent = json.loads(render(out.tree).body)
    assert sent["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
    assert {note.code for note in out.notes} >= {"setting-changed", "setting-left-out"}
