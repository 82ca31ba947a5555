"""Saying an envelope as OpenAI Responses wants it.

1. `POST /responses`; `input` is a list of items. A message is `{role, content}`; a tool call
   and its result are items of their own, tied by `call_id`.
2. Reasoning items are replayed before what they led to, with their encrypted content.
3. `store` is false: a conversation is kept here and not on the provider's side for a month.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tui_chat.model.endpoint import Endpoint, Protocol
from tui_chat.model.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.payload import Arr, Obj, Str, tree_of
from tui_chat.wire.encoding import (
    Items,
    flag,
    foreign_reasoning,
    our_default,
    own_reasoning,
    quote,
    setting,
    word,
)
from tui_chat.wire.protocol import Encoded
from tui_chat.wire.roles import adapted_role

_STREAM = our_default("stream", "the reply is shown as it arrives")
_STORE = our_default("store", "the conversation is kept here, not on the provider's side")


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    parameters = envelope.parameters
    facts = endpoint.facts_of(parameters.model.value)
    items = _items(facts.developer_role)
    body: Items = [
        ("model", setting(parameters.model)),
        ("input", Arr(tuple(item for turn in envelope.turns for item in items(turn)))),
    ]
    notes: list[Note] = []
    if envelope.tools is not None:
        body.append(("tools", Arr(tuple(map(_tool, envelope.tools)))))
    if parameters.temperature is not None:
        if facts.sampling is False:
            sentence = f"{parameters.model.value} takes no temperature, so none is sent."
            origin = parameters.temperature.origin
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, origin))
        else:
            body.append(("temperature", setting(parameters.temperature)))
    if parameters.max_tokens is not None:
        body.append(("max_output_tokens", setting(parameters.max_tokens)))
    if parameters.stream:
        body.append(("stream", flag(True, _STREAM)))
    body.append(("store", flag(False, _STORE)))
    for turn in envelope.turns:
        if turn.semantics.reasoning:
            notes += foreign_reasoning(turn, bool(_replayable(turn)))
    if not envelope.turns:
        notes.append(Note(Level.ERROR, "nothing-to-send", "There is no message to send yet."))
    return Encoded("/responses", Obj(tuple(body)), notes=tuple(notes))


@lru_cache(maxsize=2)
def _items(developer: bool) -> Memo[Turn, tuple[Obj, ...]]:
    """Return the encoder of single turns, which remembers what it encoded."""
    return Memo(lambda turn: tuple(_encode_turn(turn, developer)))


def _encode_turn(turn: Turn, developer: bool) -> Iterator[Obj]:
    origin = turn.origin
    if turn.role == "tool":
        yield Obj(
            (
                ("type", word("function_call_output")),
                ("call_id", quote(turn.tool_call_id, origin)),
                ("output", Str(turn.text)),
            ),
            origin,
        )
        return
    yield from _reasoning(turn)
    refusal = turn.semantics.refusal
    if turn.text.plain or not (turn.tool_calls or refusal):
        role = adapted_role(turn.role, Protocol.OPENAI_RESPONSES, developer=developer)
        yield Obj((("role", word(role)), ("content", Str(turn.text))), origin)
    elif refusal:
        yield Obj((("role", word("assistant")), ("content", quote(refusal, origin))), origin)
    for call in turn.tool_calls:
        yield Obj(
            (
                ("type", word("function_call")),
                ("call_id", quote(call.id, origin)),
                ("name", quote(call.name, origin)),
                ("arguments", quote(call.arguments, origin)),
            ),
            origin,
        )


def _replayable(turn: Turn) -> list[Obj]:
    return list(_reasoning(turn))


def _reasoning(turn: Turn) -> Iterator[Obj]:
    """Yield reasoning items. Without encrypted content an unstored item cannot be found."""
    for block in own_reasoning(turn, Protocol.OPENAI_RESPONSES):
        if not block.encrypted:
            continue
        summary = (
            (
                Obj(
                    (("type", word("summary_text")), ("text", quote(block.text, turn.origin))),
                    turn.origin,
                ),
            )
            if block.text
            else ()
        )
        items: Items = [("type", word("reasoning"))]
        if block.id:
            items.append(("id", quote(block.id, turn.origin)))
        items.append(("summary", Arr(summary, turn.origin)))
        items.append(("encrypted_content", quote(block.encrypted, turn.origin)))
        yield Obj(tuple(items), turn.origin)


def _tool(tool: ToolDefinition) -> Obj:
    named = tree_of(
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
    )
    assert isinstance(named, Obj)
    return Obj((("type", word("function")), *named.items))
