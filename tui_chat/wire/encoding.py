"""Pieces that every protocol's encoder builds its tree from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from tui_chat.model.envelope import Level, Note, Sourced, Turn
from tui_chat.model.message import ToolCall
from tui_chat.model.payload import Lit, Obj, Str, Tree, tree_of
from tui_chat.model.semantics import ReasoningBlock
from tui_chat.model.text import Origin, OriginKind, Text

Items = list[tuple[str, Tree]]
"""An object in the making."""


def word(text: str) -> Str:
    """Return a string that the protocol demands and nobody wrote."""
    return Str(Text.glue(text))


def quote(text: str, origin: Origin) -> Str:
    """Return a string that stands for something of `origin`."""
    return Str(Text.of(text, origin))


def field_of(origin: Origin, what: str) -> Origin:
    """Return the origin of a field of a message that is not its text: an id, the arguments of a
    call, the bytes of a picture. It leads to the message by its id and by `within`.
    """
    return Origin(origin.kind, origin.id, what, within=origin)


def setting(sourced: Sourced[Any]) -> Tree:
    """Return a parameter's value, its origin being who set it."""
    return tree_of(sourced.value, sourced.origin)


def our_default(name: str, why: str) -> Origin:
    """Return the origin of a setting that nobody set and that we send all the same."""
    return Origin(OriginKind.SETTING, name, f"{name}: {why}")


def flag(value: bool, origin: Origin) -> Lit:
    """Return `true` or `false`."""
    return Lit(value, origin)


def arguments_object(call: ToolCall, origin: Origin) -> tuple[Obj, bool]:
    """Return a call's arguments as the object that some protocols demand, and whether they
    were one. What is no JSON object is kept whole, under the key `arguments`.
    """
    try:
        value: Any = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        try:
            return cast("Obj", tree_of(cast("dict[str, Any]", value), origin)), True
        except ValueError:  # NaN and Infinity, which Python's reader lets pass
            pass
    return Obj((("arguments", quote(call.arguments, origin)),), origin), False


def foreign_reasoning(turn: Turn, replayable: bool) -> Iterator[Note]:
    """Yield a note where a turn's reasoning is not sent because it came from elsewhere."""
    if turn.semantics.reasoning and not replayable:
        came_from = turn.semantics.reasoning[0].protocol.label
        sentence = f"Its reasoning came from {came_from} and can only be replayed there."
        yield Note(Level.INFO, "reasoning-left-out", sentence, turn.origin)


def bad_arguments(turn: Turn, call: ToolCall) -> Note:
    """Return the note for arguments that had to be wrapped."""
    sentence = f"The arguments of “{call.name}” are no JSON object; they are sent as text in one."
    return Note(Level.WARNING, "arguments-wrapped", sentence, turn.origin)


def own_reasoning(turn: Turn, protocol: object) -> list[ReasoningBlock]:
    """Return the reasoning that came from this protocol."""
    return [block for block in turn.semantics.reasoning if block.protocol is protocol]
