"""Notes on what only a session has: a conversation that raises each, and one close to it that must
not. The notes on captured requests are in the golden cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.protocols.test_item_ids import ANSWER, RIGHT, reply
from tests.support.contexts import HISTORY, said
from tests.support.messages import make_message, thought
from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    OLLAMA,
    RESPONSES,
    endpoint,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.settings import WebSearch

EVERYWHERE = frozenset(Protocol)
State = dict[str, Any]
"""What a session holds (`inputs`), the `model` and `facts` about it, and more of the `endpoint`."""


def session(*history: Message, lines: Iterable[Any] = (HISTORY,), **settings: Any) -> State:
    return {"inputs": (history, tuple(lines), settings)}


def codes(state: State, target: Protocol) -> set[str]:
    """Return the codes of the notes on the request that is composed."""
    model = state.get("model", "m")
    to = endpoint(target, model, **state.get("facts", {}))
    to = replace(to, models=(model,), **state.get("endpoint", {}))
    history, lines, settings = state["inputs"]
    named = tuple(replace(each, id=f"{n}") for n, each in enumerate(history))
    inputs = Inputs(to, Preset("p", lines), named, settings=SessionSettings(**settings))
    return {note.code for note in compose(inputs).notes}


ASKED, SAID = Message.of("user", "q"), Message.of("assistant", "a")


def thinking(*beside: CallBlock) -> Message:
    reasoning = thought(CHAT, "hm", kind="reasoning_content")
    return make_message("assistant", "x", tool_calls=beside, reasoning=(reasoning,))


def result_with(*parts: MediaBlock) -> tuple[Message, ...]:
    asking = make_message("assistant", tool_calls=(CallBlock("a", "f", "{}"),))
    return asking, make_message("tool", "x", tool_call_id="a", parts=parts)


ROWS: list[tuple[str, State, State, Iterable[Protocol]]] = [
    (
        "cache-mark-left-out",
        session(ASKED, lines=(said("x", cache_control="1h"), HISTORY)),
        session(ASKED, lines=(said("x"), HISTORY)),
        EVERYWHERE - {ANTHROPIC},
    ),
    (
        "cache-mark-shortened",
        session(ASKED, lines=(said("x", cache_control="5m"), said("y", cache_control="1h"))),
        session(ASKED, lines=(said("x", cache_control="1h"), said("y", cache_control="5m"))),
        {ANTHROPIC},
    ),
    (
        "item-id-left-out",
        session(ASKED, reply(**{**RIGHT, "message": "item-7"}), ANSWER),
        session(ASKED, reply(**RIGHT), ANSWER),
        {RESPONSES},
    ),
    (
        "name-left-out",
        session(make_message("user", "q", name="Ann Lee")),
        session(make_message("user", "q", name="Ann")),
        {CHAT},
    ),
    ("nothing-to-send", session(), session(ASKED), EVERYWHERE),
    (
        "part-moved",
        session(ASKED, *result_with(MediaBlock("image", "image/png", data="AAAA"))),
        session(ASKED, *result_with()),
        {CHAT},
    ),
    (
        "piece-left-out",
        session(
            make_message("user", "see", parts=(MediaBlock("image", file_id="f", owner=ANTHROPIC),))
        ),
        session(
            make_message("user", "see", parts=(MediaBlock("image", "image/png", data="AAAA"),))
        ),
        EVERYWHERE - {ANTHROPIC},
    ),
    (
        "prefill-as-user",
        {**session(ASKED, reply_start="Sure"), "model": "claude-opus-4-8"},
        {**session(ASKED, reply_start="Sure"), "model": "claude-haiku-4-5"},
        {ANTHROPIC},
    ),
    (
        "reasoning-left-out",
        session(ASKED, thinking(), ASKED),
        session(ASKED, SAID, ASKED),
        {ANTHROPIC},
    ),
    (
        "reasoning-left-out",
        session(ASKED, thinking(), ASKED),
        session(ASKED, thinking(CallBlock("a", "f", "{}")), make_message("tool", tool_call_id="a")),
        {CHAT},
    ),
    (
        "sampling-left-out",
        {**session(ASKED, temperature=0.5), "facts": {"sampling": False}},
        {**session(ASKED, temperature=0.5), "facts": {"sampling": True}},
        EVERYWHERE,
    ),
    ("setting-left-out", session(ASKED, top_k=5), session(ASKED), {CHAT, RESPONSES}),
    ("tool-left-out", session(ASKED, web_search=WebSearch()), session(ASKED), {OLLAMA}),
    (
        "tool-left-out",
        session(
            ASKED,
            web_search=WebSearch(
                allowed_domains=("a.invalid", "b.invalid"), blocked_domains=("b.invalid",)
            ),
        ),
        session(ASKED, web_search=WebSearch(allowed_domains=("a.invalid",))),
        {ANTHROPIC},
    ),
]


@each_row(("code", "shows", "silent", "protocols"), ROWS)
def test_a_note_is_shown_where_it_is_true(
    code: str, shows: State, silent: State, protocols: Iterable[Protocol]
) -> None:
    for target in protocols:
        assert code in codes(shows, target), target
        assert code not in codes(silent, target), target
