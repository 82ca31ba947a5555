"""Random envelopes: conversations as they come, with calls gone wrong, pictures and settings."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.messages import make_message, thought
from tests.support.strategies import any_text
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Parameters,
    Placement,
    RequestSettings,
    ToolDefinition,
    Turn,
)
from tui_chat.models.message import MESSAGE_ROLES, MessageRole
from tui_chat.models.settings import ToolChoice
from tui_chat.models.text import Origin, OriginKind

SETTING = Origin(OriginKind.SETTING, "s", "s")
ids = st.sampled_from(["", "a", "b", "c:1", "call 2"])
names = st.sampled_from(["f", "g", "a.b", "a/b", "1x", "ü" * 70])
arguments = st.sampled_from(["", "{}", '{"a": [1, null, "x"]}', "[1]", "{broken", '{"a": NaN}'])
parts = st.sampled_from(
    [
        MediaBlock("image", "image/png", data="iVBORw0KGgo="),
        MediaBlock("image", url="https://example.invalid/a.png"),
        MediaBlock("image", "image/tiff", data="AA=="),
        MediaBlock("audio", "audio/wav", data="UklGRg=="),
        MediaBlock("file", "application/pdf", data="JVBERi0=", name="a.pdf"),
        MediaBlock("file", "text/plain", text="words", name="t"),
        MediaBlock("file", file_id="file-1", owner=Protocol.OPENAI_CHAT),
    ]
)
reasoning = st.builds(
    thought,
    st.sampled_from(list(Protocol)),
    any_text,
    st.sampled_from(["", "U0lH"]),
    st.sampled_from(["", "RU5D"]),
    st.sampled_from(["", "rs_1"]),
)


@st.composite
def turns(draw: st.DrawFn, number: int) -> Turn:
    role: MessageRole = draw(st.sampled_from(MESSAGE_ROLES))
    origin = Origin(OriginKind.HISTORY, str(number))
    model, user = role == "assistant", role == "user"
    calls = st.lists(st.builds(CallBlock, ids, names, arguments), max_size=3)
    message = make_message(
        role,
        draw(any_text),
        tool_calls=tuple(draw(calls)) if model else (),
        tool_call_id=draw(ids) if role == "tool" else "",
        name=draw(st.sampled_from(["", "", "bob"])) if user else "",
        parts=tuple(draw(st.lists(parts, max_size=2))) if role in ("user", "tool") else (),
        reasoning=tuple(draw(st.lists(reasoning, max_size=2))) if model else (),
        refusal=draw(st.sampled_from(["", "", "no"])) if model else "",
        failed=draw(st.sampled_from([None, True, False])) if role == "tool" else None,
    )
    return Turn(role, message.blocks, origin, Placement("history"), name=message.name)


SETTINGS: dict[str, st.SearchStrategy[object]] = {
    "temperature": st.floats(0, 1),
    "max_tokens": st.integers(1, 9999),
    "top_p": st.floats(0, 1),
    "stop": st.lists(any_text, max_size=6).map(tuple),
    "seed": st.integers(0, 99),
    "tool_choice": st.builds(
        ToolChoice,
        st.sampled_from(["auto", "none", "required"]),
        st.lists(names, max_size=1).map(tuple),
    ),
}


@st.composite
def envelopes(draw: st.DrawFn) -> ChatEnvelope:
    count = draw(st.integers(1, 8))
    tools = draw(
        st.one_of(st.none(), st.lists(names, min_size=1, max_size=4, unique=True).map(tuple))
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    values: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=SETTINGS))
    values |= {"model": "m", "stream": draw(st.booleans())}
    return ChatEnvelope(
        tuple(draw(turns(number)) for number in range(count)),
        Parameters(RequestSettings(**values), dict.fromkeys(values, SETTING)),
        None
        if tools is None
        else tuple(ToolDefinition(name, draw(any_text), schema) for name in tools),
    )
