"""Saying an envelope as Anthropic Messages wants it.

1. `POST /v1/messages`; `model`, `max_tokens` and `messages` are required.
2. Leading system turns are text blocks of the top-level `system`. A later one stays in place
   where the model takes it, else it is hoisted or becomes a user turn, with a note.
3. Text must not be empty or white space only, and a final assistant text must not end in
   white space: such a text is left out, or cut, with a note.
4. Tool calls are `tool_use` blocks whose input is an object; all results of a turn stand
   together in the user message that follows.
5. Signed thinking goes back unmodified, before the text it led to.
6. Sampling settings are sent only to models known to take them: newer ones refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tui_chat.model.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.model.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.payload import Arr, Obj, Str, Tree, tree_of
from tui_chat.wire.encoding import (
    Items,
    arguments_object,
    bad_arguments,
    flag,
    foreign_reasoning,
    our_default,
    own_reasoning,
    quote,
    setting,
    word,
)
from tui_chat.wire.protocol import Encoded
from tui_chat.wire.roles import adapted_role, split_leading_system

VERSION = "2026-10-21"
"""The `anthropic-version` that the official SDK (2.x) sends."""

_STREAM = our_default("stream", "the reply is shown as it arrives")
_MAX_TOKENS = our_default("max_tokens", "the endpoint's reply limit; Anthropic demands one")


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    parameters = envelope.parameters
    facts = endpoint.facts_of(parameters.model.value)
    notes: list[Note] = []
    leading, rest = split_leading_system(envelope.turns)
    hoisted, messages = _messages(rest, facts, endpoint, notes)
    system = [turn for turn in (*leading, *hoisted) if _has_text(turn, notes)]

    max_tokens = parameters.max_tokens or Sourced(endpoint.max_tokens, _MAX_TOKENS)
    body: Items = [("model", setting(parameters.model)), ("max_tokens", setting(max_tokens))]
    if system:
        body.append(("system", Arr(tuple(map(_text_block, system)))))
    body.append(("messages", Arr(tuple(messages))))
    if envelope.tools is not None:
        body.append(("tools", Arr(tuple(map(_tool, envelope.tools)))))
    if parameters.temperature is not None:
        if facts.sampling:
            body.append(("temperature", setting(parameters.temperature)))
        else:
            sentence = (
                f"{parameters.model.value} is not known to take a temperature (newer Claude "
                "models refuse it), so none is sent."
            )
            origin = parameters.temperature.origin
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, origin))
    if parameters.stream:
        body.append(("stream", flag(True, _STREAM)))
    if not messages:
        notes.append(Note(Level.ERROR, "nothing-to-send", "There is no message to send yet."))
    headers = (("anthropic-version", VERSION),)
    return Encoded("/v1/messages", Obj(tuple(body)), headers, notes=tuple(notes))


def _messages(
    turns: Sequence[Turn], facts: ModelFacts, endpoint: Endpoint, notes: list[Note]
) -> tuple[list[Turn], list[Obj]]:
    """Return the system turns that were hoisted, and the messages."""
    hoisted: list[Turn] = []
    messages: list[Obj] = []
    last = turns[-1] if turns else None
    for is_tool, run in groupby(turns, lambda turn: turn.role == "tool"):
        if is_tool:
            messages.append(_results(tuple(run)))
            continue
        for turn in run:
            if turn.role == "system" and not facts.mid_history_system:
                notes.append(_system_moved(turn, endpoint))
                if endpoint.system_fallback == "hoist":
                    hoisted.append(turn)
                    continue
                message = _as_user(turn)
            elif turn is last and turn.role == "assistant" and not turn.tool_calls:
                message = _prefill(turn, notes)
            else:
                message = _message(turn)
            if message is None:
                _has_text(turn, notes)
                continue
            messages.append(message)
            if turn.tool_calls or turn.semantics.reasoning:
                notes += _turn_notes(turn)
    return hoisted, messages


def _encode_turn(turn: Turn) -> Obj | None:
    """Return a turn's message, None where it would have no content."""
    content: Tree = Str(turn.text)
    thinking = list(_thinking(turn))
    if thinking or turn.tool_calls:
        blocks: list[Obj] = [*thinking]
        if turn.text.plain.strip():
            blocks.append(_text_block(turn))
        for call in turn.tool_calls:
            arguments, _ = arguments_object(call, turn.origin)
            items: Items = [
                ("type", word("tool_use")),
                ("id", quote(call.id, turn.origin)),
                ("name", quote(call.name, turn.origin)),
                ("input", arguments),
            ]
            blocks.append(Obj(tuple(items), turn.origin))
        content = Arr(tuple(blocks), turn.origin)
    elif not turn.text.plain.strip():
        if not turn.semantics.refusal:
            return None
        content = quote(turn.semantics.refusal, turn.origin)
    role = adapted_role(turn.role, Protocol.ANTHROPIC)
    return Obj((("role", word(role)), ("content", content)), turn.origin)


_message: Memo[Turn, Obj | None] = Memo(_encode_turn)


def _as_user(turn: Turn) -> Obj | None:
    if not turn.text.plain.strip():
        return None
    return Obj((("role", word("user")), ("content", Str(turn.text))), turn.origin)


def _prefill(turn: Turn, notes: list[Note]) -> Obj | None:
    """Encode a final assistant turn, whose text must not end in white space."""
    kept = turn.text.plain.rstrip()
    if kept == turn.text.plain or not kept or turn.semantics.reasoning:
        return _message(turn)
    sentence = "White space at the end of a final assistant message is refused, so it is cut."
    notes.append(Note(Level.INFO, "space-cut", sentence, turn.origin))
    content = Str(turn.text[: len(kept)])
    return Obj((("role", word("assistant")), ("content", content)), turn.origin)


def _results(turns: tuple[Turn, ...]) -> Obj:
    blocks: list[Obj] = []
    for turn in turns:
        items: Items = [
            ("type", word("tool_result")),
            ("tool_use_id", quote(turn.tool_call_id, turn.origin)),
        ]
        if turn.text.plain.strip():
            items.append(("content", Str(turn.text)))
        blocks.append(Obj(tuple(items), turn.origin))
    return Obj((("role", word("user")), ("content", Arr(tuple(blocks)))), turns[0].origin)


def _thinking(turn: Turn) -> Iterator[Obj]:
    for block in own_reasoning(turn, Protocol.ANTHROPIC):
        if block.encrypted:
            data = quote(block.encrypted, turn.origin)
            yield Obj((("type", word("redacted_thinking")), ("data", data)), turn.origin)
        elif block.signature:  # an interrupted block has none, and is refused without
            yield Obj(
                (
                    ("type", word("thinking")),
                    ("thinking", quote(block.text, turn.origin)),
                    ("signature", quote(block.signature, turn.origin)),
                ),
                turn.origin,
            )


def _text_block(turn: Turn) -> Obj:
    return Obj((("type", word("text")), ("text", Str(turn.text))), turn.origin)


def _tool(tool: ToolDefinition) -> Tree:
    return tree_of(
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    )


def _has_text(turn: Turn, notes: list[Note]) -> bool:
    if turn.text.plain.strip():
        return True
    sentence = "A message of nothing but white space is refused, so it is left out."
    notes.append(Note(Level.WARNING, "blank-left-out", sentence, turn.origin))
    return False


def _system_moved(turn: Turn, endpoint: Endpoint) -> Note:
    what = "moved to the top" if endpoint.system_fallback == "hoist" else "sent as a user message"
    sentence = f"A system message after the first turns is {what}: this model takes none there."
    return Note(Level.WARNING, "system-moved", sentence, turn.origin)


def _turn_notes(turn: Turn) -> Iterator[Note]:
    yield from foreign_reasoning(turn, any(True for _ in _thinking(turn)))
    for call in turn.tool_calls:
        if not arguments_object(call, turn.origin)[1]:
            yield bad_arguments(turn, call)
