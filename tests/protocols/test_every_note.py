"""A walk over every note that a protocol raises: a request that raises it, one close to it that
must not, and the protocols in which it occurs. The codes are read from the sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.protocols.test_item_ids import ANSWER, RIGHT, reply
from tests.support.contexts import HISTORY, said
from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    LINK,
    OLLAMA,
    PICTURE,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    decoded,
    endpoint,
    function,
    result,
    system,
    user,
)
from tui_chat.compose import compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.preset import Preset
from tui_chat.models.semantics import KeptReply, MessageSemantics, ReasoningBlock, WebSearch

EVERYWHERE = frozenset(Protocol)
State = dict[str, Any]
"""A request as a body (`body`, with the protocol that it is of as `source`), or as what a session
holds (`inputs`); the `model`, and facts about it."""


def body(*messages: dict[str, Any], **more: Any) -> State:
    """A captured request of OpenAI Chat."""
    return {"body": chat(*messages, **more)}


def captured(source: Protocol, **fields: Any) -> State:
    return {"body": {"model": "m", **fields}, "source": source}


def session(*history: Message, lines: Iterable[Any] = (HISTORY,), **settings: Any) -> State:
    return {"inputs": (history, tuple(lines), settings)}


def notes_of(state: State, target: Protocol) -> tuple[Note, ...]:
    facts = dict(state.get("facts", {}))
    model = state.get("model", "m")
    to = replace(endpoint(target, model, **facts), models=(model,), **state.get("endpoint", {}))
    if "inputs" in state:
        history, lines, settings = state["inputs"]
        named = tuple(replace(each, id=f"{n}") for n, each in enumerate(history))
        inputs = Inputs(to, Preset("p", lines), named, settings=SessionSettings(**settings))
        return compose(inputs).notes
    envelope = decoded(state["body"], state.get("source", CHAT), state.get("model", ""))
    return encode(envelope, to).notes


def codes(state: State, target: Protocol) -> set[str]:
    return {note.code for note in notes_of(state, target)}


def text(words: str = "w", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def claude(*messages: dict[str, Any], **more: Any) -> State:
    return captured(ANTHROPIC, max_tokens=99, messages=list(messages), **more)


MARK = {"cache_control": {"type": "ephemeral"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "U0lH"}
TWO = calls(call("a"), call("b"))
ASKED, SAID = Message("user", "q"), Message("assistant", "a")
CITED = {"type": "url_citation", "url_citation": {"url": "https://e.invalid", "title": "t"}}
SEARCH = {"type": "web_search", "filters": {"allowed_domains": ["e.invalid"]}}


def thinking(*beside: ToolCall) -> Message:
    thought = ReasoningBlock(CHAT, "hm", kind="reasoning_content")
    return Message(
        "assistant", "x", tool_calls=beside, semantics=MessageSemantics(reasoning=(thought,))
    )


def kept(stored: str) -> Message:
    """A reply that the provider keeps with this text."""
    return replace(SAID, semantics=MessageSemantics(kept_as=KeptReply.of("resp_1", stored)))


def tool_use(failed: bool) -> State:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    done = {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": failed}
    return claude(user(), assistant([use]), user([done]), tools=[])


def functions(*names: str) -> list[dict[str, Any]]:
    return [function(name) for name in names]


def result_with(*parts: Part) -> tuple[Message, ...]:
    asking = Message("assistant", tool_calls=(ToolCall("a", "f", "{}"),))
    return asking, Message("tool", "x", tool_call_id="a", parts=parts)


WALK: dict[str, list[tuple[State, State, frozenset[Protocol] | set[Protocol]]]] = {
    "arguments-wrapped": [
        (
            body(user(), calls(call("a", arguments="{x")), result("a")),
            body(user(), calls(call("a", arguments='{"x": 1}')), result("a")),
            {ANTHROPIC, GEMINI, OLLAMA},
        )
    ],
    "blank-left-out": [
        (
            body(user("a"), assistant(" "), user("b")),
            body(user("a"), assistant("x"), user("b")),
            {ANTHROPIC},
        )
    ],
    "blank-text-left-out": [
        (body(user([text(" "), LINK])), body(user([text("x"), LINK])), {ANTHROPIC})
    ],
    "cache-mark-left-out": [
        (
            body(user([text(**MARK)] * 5)),
            body(user([text(**MARK)] * 4)),
            {ANTHROPIC},
        ),
        (
            session(ASKED, lines=(said("x", cache_control="1h"), HISTORY)),
            session(ASKED, lines=(said("x"), HISTORY)),
            EVERYWHERE - {ANTHROPIC},
        ),
    ],
    "cache-mark-shortened": [
        (
            session(ASKED, lines=(said("x", cache_control="5m"), said("y", cache_control="1h"))),
            session(ASKED, lines=(said("x", cache_control="1h"), said("y", cache_control="5m"))),
            {ANTHROPIC},
        )
    ],
    "call-id-changed": [
        (
            body(user(), calls(call("c:1|x")), result("c:1|x")),
            body(user(), calls(call("c_1_x")), result("c_1_x")),
            {ANTHROPIC},
        ),
    ],
    "citations-left-out": [
        (
            body(user(), assistant("x", annotations=[CITED]), user()),
            body(user(), assistant("x", annotations=[]), user()),
            EVERYWHERE - {CHAT},
        )
    ],
    "default-invented": [
        (body(user()), body(user(), max_tokens=9), {ANTHROPIC}),
        (body(user()), session(ASKED), {RESPONSES}),
    ],
    "earlier-turns-missing": [
        (
            captured(RESPONSES, input="hi", previous_response_id="resp_1"),
            captured(RESPONSES, input="hi", previous_response_id=None),
            EVERYWHERE - {RESPONSES},
        )
    ],
    "extras-left-out": [
        (
            body({**user(), "x_message": 1}),
            body({**user(), "x_message": None}),
            EVERYWHERE - {CHAT},
        )
    ],
    "failure-left-out": [(tool_use(True), tool_use(False), {CHAT, RESPONSES, OLLAMA})],
    "filler-added": [
        (
            body(user(), assistant("x"), user(" ")),
            body(user(), assistant("x"), user("y")),
            {ANTHROPIC},
        ),
        (
            body(calls(call("a")), result("a"), user("y")),
            body(user(), calls(call("a")), result("a"), user("y")),
            {GEMINI},
        ),
    ],
    "item-id-left-out": [
        (
            session(ASKED, reply(**{**RIGHT, "message": "item-7"}), ANSWER),
            session(ASKED, reply(**RIGHT), ANSWER),
            {RESPONSES},
        )
    ],
    "key-repeated": [
        (
            {"body": '{"messages": [{"role": "user", "content": "a", "content": "b"}]}'},
            {"body": '{"messages": [{"role": "user", "content": "a", "name": "b"}]}'},
            EVERYWHERE,
        )
    ],
    "kept-by-provider": [
        (
            {**session(ASKED, kept("a"), ASKED), "endpoint": {"provider_keeps": True}},
            {**session(ASKED, kept("changed"), ASKED), "endpoint": {"provider_keeps": True}},
            {RESPONSES},
        )
    ],
    "limit-raised": [
        (body(user(), max_tokens=9), body(user(), max_tokens=16), {RESPONSES}),
    ],
    "link-passed-on": [
        (
            session(Message("user", "see", parts=(Part("image", url="https://e.invalid/a.png"),))),
            session(Message("user", "see", parts=(Part("image", "image/png", data="AAAA"),))),
            {GEMINI},
        )
    ],
    "medium-not-accepted": [
        (
            {**body(user([PICTURE])), "facts": {"input_media": ("text",)}, "model": "n"},
            {**body(user([PICTURE])), "facts": {"input_media": ("text", "image")}, "model": "n"},
            EVERYWHERE - {CHAT},
        )
    ],
    "name-left-out": [
        (body({**user(), "name": "alice"}), body(user()), EVERYWHERE - {CHAT}),
        (
            session(Message("user", "q", name="Ann Lee")),
            session(Message("user", "q", name="Ann")),
            {CHAT},
        ),
    ],
    "nothing-to-send": [(session(), session(ASKED), EVERYWHERE)],
    "order-changed": [
        (
            body(user([text(), PICTURE, text()])),
            body(user([PICTURE, text()])),
            {OLLAMA},
        ),
        (
            claude(
                user(),
                assistant([{"type": "tool_use", "id": "a", "name": "f", "input": {}}, text()]),
                user(),
            ),
            claude(
                user(),
                assistant([text(), {"type": "tool_use", "id": "a", "name": "f", "input": {}}]),
                user(),
            ),
            {CHAT},
        ),
    ],
    "part-moved": [
        (
            session(ASKED, *result_with(Part("image", "image/png", data="AAAA"))),
            session(ASKED, *result_with()),
            {CHAT},
        )
    ],
    "parts-merged": [
        (body(user([text(), text()])), body(user([text()])), {OLLAMA}),
        (
            body(system([text(), text()]), user()),
            body(system([text()]), user()),
            {OLLAMA, GEMINI},
        ),
    ],
    "piece-left-out": [
        (
            body(user([text(), AUDIO])),
            body(user([text(), PICTURE])),
            {ANTHROPIC, RESPONSES, OLLAMA},
        ),
        (
            session(
                Message("user", "see", parts=(Part("image", file_id="f", protocol=ANTHROPIC),))
            ),
            session(Message("user", "see", parts=(Part("image", "image/png", data="AAAA"),))),
            EVERYWHERE - {ANTHROPIC},
        ),
    ],
    "prefill-as-user": [
        (
            {**session(ASKED, reply_start="Sure"), "model": "claude-opus-4-8"},
            {**session(ASKED, reply_start="Sure"), "model": "claude-haiku-4-5"},
            {ANTHROPIC},
        )
    ],
    "prefill-undefined": [
        (session(ASKED, reply_start="Sure"), session(ASKED), {CHAT, RESPONSES, GEMINI})
    ],
    "reasoning-doubtful": [
        (
            {**session(ASKED, effort="high"), "facts": {"reasons": False}},
            {**session(ASKED, effort="high"), "facts": {"reasons": True}},
            {CHAT, RESPONSES},
        )
    ],
    "reasoning-left-out": [
        (session(ASKED, thinking(), ASKED), session(ASKED, SAID, ASKED), {ANTHROPIC}),
        (
            claude(user(), assistant([SIGNED, text()]), user()),
            claude(user(), assistant([text()]), user()),
            EVERYWHERE - {ANTHROPIC},
        ),
        (
            session(ASKED, thinking(), ASKED),
            session(ASKED, thinking(ToolCall("a", "f", "{}")), Message("tool", tool_call_id="a")),
            {CHAT},
        ),
    ],
    "result-missing": [
        (
            body(user(), TWO, result("a"), user()),
            body(user(), TWO, result("a"), result("b")),
            EVERYWHERE,
        )
    ],
    "result-moved": [
        (
            body(user(), TWO, result("a"), user(), result("b")),
            body(user(), TWO, result("a"), result("b"), user()),
            EVERYWHERE,
        )
    ],
    "result-without-call": [
        (body(user(), result("a")), body(user(), calls(call("a")), result("a")), EVERYWHERE)
    ],
    "results-reordered": [
        (
            body(user(), TWO, result("b"), result("a")),
            body(user(), TWO, result("a"), result("b")),
            EVERYWHERE - {CHAT},
        )
    ],
    "sampling-left-out": [
        (
            {**session(ASKED, temperature=0.5), "facts": {"sampling": False}},
            {**session(ASKED, temperature=0.5), "facts": {"sampling": True}},
            EVERYWHERE,
        )
    ],
    "setting-changed": [
        (
            {**body(user(), max_tokens=99), "facts": {"max_output": 50}},
            {**body(user(), max_tokens=99), "facts": {"max_output": 99}},
            EVERYWHERE - {CHAT},
        )
    ],
    "setting-left-out": [
        (body(user(), x_top=1), body(user(), x_top=None), EVERYWHERE - {CHAT}),
        (session(ASKED, top_k=5), session(ASKED), {CHAT, RESPONSES}),
    ],
    "signature-stand-in": [
        (
            {**body(user(), calls(call("a")), result("a")), "model": "gemini-3-pro"},
            {**body(user(), calls(call("a")), result("a")), "model": "gemini-2.5-pro"},
            {GEMINI},
        )
    ],
    "space-cut": [
        (
            {**body(user(), assistant("x ")), "model": "claude-haiku-4-5"},
            {**body(user(), assistant("x")), "model": "claude-haiku-4-5"},
            {ANTHROPIC},
        )
    ],
    "surrogate-replaced": [
        (body(user("a\ud83db")), body(user("a\U0001f600b")), EVERYWHERE),
    ],
    "system-moved": [
        (
            body(user(), system("s"), user()),
            body(system("s"), user(), user()),
            {ANTHROPIC, GEMINI},
        )
    ],
    "tool-as-function": [
        (
            body(user(), tools=[{"type": "custom", "custom": {"name": "f"}}]),
            body(user(), tools=[function()]),
            EVERYWHERE - {CHAT},
        )
    ],
    "tool-extras-left-out": [
        (
            body(user(), tools=[{**function(), "x_tool": 1}]),
            body(user(), tools=[{**function(), "x_tool": None}]),
            EVERYWHERE - {CHAT},
        )
    ],
    "tool-left-out": [
        (
            body(user(), tools=[{"type": "odd", "odd": {"a": 1}}]),
            body(user(), tools=[function()]),
            EVERYWHERE - {CHAT},
        ),
        (session(ASKED, web_search=WebSearch()), session(ASKED), {OLLAMA}),
    ],
    "tool-renamed": [
        (
            body(user(), tools=functions("a b")),
            body(user(), tools=functions("a_b")),
            EVERYWHERE - {OLLAMA},
        )
    ],
    "tool-twice": [
        (
            body(user(), tools=functions("f", "f")),
            body(user(), tools=functions("f", "g")),
            EVERYWHERE - {CHAT},
        )
    ],
    "tools-empty": [(body(user(), tools=[]), body(user()), {CHAT})],
    "unknown-content": [
        (
            body(user([{"type": "odd", "odd": {"a": 1}}])),
            body(user([text()])),
            EVERYWHERE,
        )
    ],
    "unknown-keys": [
        (body(user(), x_top=1), body(user(), user="u"), {CHAT}),
    ],
}


@pytest.mark.parametrize("target", list(Protocol), ids=lambda protocol: protocol.value)
@pytest.mark.parametrize(
    ("code", "number"), [(code, n) for code, states in WALK.items() for n in range(len(states))]
)
def test_a_note_is_shown_where_it_is_true_and_nowhere_else(
    code: str, number: int, target: Protocol
) -> None:
    shows, silent, protocols = WALK[code][number]
    if target in protocols:
        assert code in codes(shows, target)
        assert code not in codes(silent, target)
    elif all(target not in places for _, _, places in WALK[code]):
        assert code not in codes(shows, target)


def test_content_that_is_not_known_stays_only_in_its_protocol() -> None:
    odd = body(user([{"type": "odd", "odd": {"a": 1}}]))
    assert [note.sentence for note in notes_of(odd, CHAT)] == [
        'Content of the type "odd" is not known here: to OpenAI Chat it is sent as it came.'
    ]
    assert "piece-left-out" not in codes(odd, CHAT)
    for target in EVERYWHERE - {CHAT}:
        assert "piece-left-out" in codes(odd, target)


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_models_of_openai_may_take_cache_marks(target: Protocol) -> None:
    marked = claude(user([text(**MARK)]))
    sentences = [note.sentence for note in notes_of(marked, target)]
    assert any("known to accept them; this one is left out." in each for each in sentences)
    accepted = notes_of({**marked, "facts": {"cache_breakpoints": True}}, target)
    assert not any("left out" in note.sentence for note in accepted)
