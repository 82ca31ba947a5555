"""Muted conversations in each protocol: accepted as they are sent, and the same as before to the
byte once nothing is muted.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import ORACLE, oracle
from tests.support.messages import make_message, thought
from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, PNG, RESPONSES, decoded
from tests.support.sdk_types import accept
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.muted_history import without_muted
from tui_chat.models.blocks import Block, CallBlock, Extras, MediaBlock, ReasoningBlock, TextBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.message import NOT_MUTED, Message, Muted
from tui_chat.models.preset import Preset, PresetMessage

MODELS = {
    CHAT: "gpt-5",
    RESPONSES: "gpt-5",
    ANTHROPIC: "claude-opus-4-8",
    GEMINI: "gemini-3-pro",
    OLLAMA: "qwen3:8b",
}
PICTURE = MediaBlock("image", "image/png", PNG, name="a.png")
PDF = MediaBlock("file", "application/pdf", "JVBERi0=", name="a.pdf")
TOOL = ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
PRESET = Preset(
    "p", (PresetMessage("s", "system", "S"), PresetMessage("h", "user", "", type="chat_history"))
)
SIGNATURE = "c2lnbmF0dXJl"


def reasoning_of(protocol: Protocol, number: int, kind: str) -> ReasoningBlock:
    match protocol:
        case Protocol.OPENAI_RESPONSES:
            encrypted = f"gAAAA{number}"
            return thought(protocol, "Hm.", "", encrypted, f"rs_{number}", "summary")
        case Protocol.OPENAI_CHAT:
            return thought(protocol, "Hm.", kind=kind)
        case Protocol.OLLAMA:
            return thought(protocol, "Hm.")
        case _:
            return thought(protocol, f"Hm {number}.", SIGNATURE)


@st.composite
def replies(draw: st.DrawFn, protocol: Protocol, number: int) -> list[Message]:
    """A reply as its protocol writes it, with the results of its calls."""
    blocks: list[Block] = []
    kind = draw(st.sampled_from(["reasoning_content", "reasoning.text x"]))
    kinds = draw(st.lists(st.sampled_from(["reasoning", "text", "call"]), min_size=1, max_size=6))
    kinds += draw(st.sampled_from([["text"], ["call"], ["call", "call"]]))
    for index, each in enumerate(kinds):
        identity = f"{number}{index}"
        if each == "reasoning":
            blocks.append(reasoning_of(protocol, int(identity), kind))
        elif each == "text":
            text = draw(st.sampled_from(["Said.", "Said at length, with an end.", "\n"]))
            item = {"item": {"id": f"msg_{identity}"}}
            extras = Extras(protocol, "message", item) if protocol is RESPONSES else None
            blocks.append(TextBlock(text, extras=extras))
        else:
            first = not any(isinstance(block, CallBlock) for block in blocks)
            keys = {"thoughtSignature": SIGNATURE} if protocol is GEMINI and first else {}
            keys |= {"id": f"fc_{identity}"} if protocol is RESPONSES else {}
            blocks.append(
                CallBlock(f"call_{identity}", "look", "{}", "", Extras(protocol, "", keys))
            )
    reasoning = tuple(i for i, block in enumerate(blocks) if isinstance(block, ReasoningBlock))
    muted = draw(st.sampled_from([NOT_MUTED, NOT_MUTED, Muted(True), Muted(blocks=reasoning)]))
    reply = Message("assistant", tuple(blocks), f"a{number}", muted=muted)
    calls = reply.tool_calls
    parts = draw(st.sampled_from([(), (), (PICTURE,)]))
    return [
        reply,
        *(
            make_message(
                *("tool", "R", f"r{call.id}"),
                tool_call_id=call.id,
                name="look",
                parts=parts,
                muted=draw(mutes(2, len(parts))),
            )
            for call in calls
        ),
    ]


def mutes(first: int, count: int) -> st.SearchStrategy[Muted]:
    """What may be muted of a message whose `count` files begin at the block `first`."""
    files = st.lists(st.integers(first, first + max(count - 1, 0)), max_size=count, unique=True)
    some = st.builds(Muted, st.booleans(), files.map(sorted).map(tuple))
    return st.one_of(st.just(NOT_MUTED), some)


@st.composite
def conversations(draw: st.DrawFn) -> Inputs:
    """A conversation in the way of one protocol, with some of it muted. It waits for an answer to
    what is typed, to a stored message, or to the results of calls.
    """
    protocol = draw(st.sampled_from(Protocol))
    history: list[Message] = []
    for number in range(draw(st.integers(1, 4))):
        parts = draw(st.sampled_from([(), (PICTURE,), (PDF, PICTURE)]))
        text = draw(st.sampled_from(["Asked.", "Asked.", ""])) if parts else "Asked."
        muted = draw(mutes(bool(text), len(parts)))
        history.append(make_message("user", text, f"u{number}", parts=parts, muted=muted))
        for step in range(draw(st.integers(0, 2))):
            history += draw(replies(protocol, 10 * (number + 1) + step))
    endpoint = Endpoint("e", protocol, "https://e", models=(MODELS[protocol],))
    draft = "Draft." if history[-1].role == "assistant" else draw(st.sampled_from(["", "Draft."]))
    return Inputs(
        *(endpoint, PRESET, tuple(history), draft),
        settings=SessionSettings(max_tokens=4000),
        tools=(TOOL,),
    )


def bare(inputs: Inputs) -> Inputs:
    """The same conversation with nothing muted, of the same objects where nothing was."""
    history = (m if m.muted is NOT_MUTED else replace(m, muted=NOT_MUTED) for m in inputs.history)
    return replace(inputs, history=tuple(history))


def body_of(composed: Composed) -> Any:
    """The body, without reasoning in Chat: it is no field of OpenAI's own."""
    body = json.loads(composed.payload.body)
    for message in body.get("messages", ()) if composed.endpoint.protocol is CHAT else ():
        for key in ("reasoning_content", "reasoning_details"):
            message.pop(key, None)
    return body


def faults(composed: Composed) -> list[Any]:
    """What the check from outside the project finds wrong; nothing where it is not at hand."""
    protocol = composed.endpoint.protocol
    if protocol is OLLAMA or not ORACLE.is_file():
        return []
    found = oracle(protocol, body_of(composed), MODELS[protocol])
    return [(fault["code"], fault["path"]) for fault in found]


PAIRING = {"result-missing", "result-without-call", "result-moved", "results-reordered"}


@pytest.mark.slow
@given(conversations())
def test_a_muted_conversation_is_accepted(inputs: Inputs):
    shown = compose(bare(inputs))
    composed = compose(inputs)
    protocol = inputs.endpoint.protocol
    accept(protocol, body_of(composed))
    codes = {note.code for note in composed.notes} - {note.code for note in shown.notes}
    assert not codes & (PAIRING | {"item-id-left-out"})
    assert faults(composed) == []
    again = decoded(json.loads(composed.payload.body), protocol)
    assert not {note.code for note in again.notes} & PAIRING
    history = without_muted(inputs.history, bool(inputs.draft), False).history
    assert not any(message.muted for message in history[:-1])


@pytest.mark.slow
@given(conversations())
def test_unmuted_is_as_before_to_the_byte(inputs: Inputs):
    before = compose(bare(inputs)).payload.body
    muted = compose(inputs).payload.body
    assert compose(bare(inputs)).payload.body == before
    copied = replace(inputs, history=tuple(map(replace, inputs.history)))
    assert compose(copied).payload.body == muted
