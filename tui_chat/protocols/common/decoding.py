"""Build the envelope of a captured request.

The text of a message is one string, also if it came in several blocks; the layout then has the
blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Placement, Turn
from tui_chat.models.json_text import to_json, type_name
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.semantics import (
    ContentKind,
    ContentShape,
    Layout,
    LayoutPiece,
    MessageSemantics,
    ReasoningBlock,
    WireForm,
)
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.protocols.common.reading import WireRequest
from tui_chat.protocols.common.request_fields import Fields, excerpt

_PLACEMENT = Placement("history", rule="Copied from this place in the captured request.")
_ORDER: dict[ContentKind, int] = {
    "result": 0,
    "reasoning": 1,
    "text": 2,
    "refusal": 3,
    "part": 4,
    "call": 5,
    "other": 9,
}


class TurnBuilder:
    """A turn that is being built. `number` counts the turns of the request from 1."""

    def __init__(self, protocol: Protocol, role: MessageRole, number: int) -> None:
        self.protocol = protocol
        self.role: MessageRole = role
        self.number = number
        self.pieces: list[LayoutPiece] = []
        self.texts: list[str] = []
        self.reasoning: list[ReasoningBlock] = []
        self.parts: list[Part] = []
        self.calls: list[ToolCall] = []
        self.refusal = ""
        self.tool_call_id = ""
        self.name = ""
        self.failed: bool | None = None
        self.shape: ContentShape = ""
        self.joined = False
        self.role_word = ""
        self.slot = ""
        self.extras = ""

    def read_content(
        self, holder: Fields, key: str, read_part: Callable[[Fields, TurnBuilder], None]
    ) -> None:
        """Take a content: a text, a list of parts, null or none. Raises InputError for others."""
        content = holder.remaining.get(key)
        if isinstance(content, list):
            self.shape = "parts"
            for part in holder.take_list(key):
                read_part(part, self)
            return
        self.shape = "null" if key in holder.remaining else "absent"
        holder.remaining.pop(key, None)
        if isinstance(content, str):
            self.shape = "string"
            if content:
                self.add_text(content)
        elif content is not None:
            place = holder.path(key)
            sentence = f"{place} must be a text or a list of parts, not {type_name(content)}."
            raise InputError(sentence)

    def add_text(self, text: str, **marks: Any) -> None:
        """Add a block of text."""
        self.texts.append(text)
        self.pieces.append(LayoutPiece("text", len(text), **marks))

    def add_reasoning(self, block: ReasoningBlock, **marks: Any) -> None:
        """Add a block of reasoning."""
        self.reasoning.append(block)
        self.pieces.append(LayoutPiece("reasoning", **marks))

    def add_part(self, part: Part, **marks: Any) -> None:
        """Add a picture, a sound or a file."""
        self.parts.append(part)
        self.pieces.append(LayoutPiece("part", **marks))

    def add_call(self, call: ToolCall, **marks: Any) -> None:
        """Add a tool call."""
        self.calls.append(call)
        self.pieces.append(LayoutPiece("call", **marks))

    def add_refusal(self, refusal: str, **marks: Any) -> None:
        """Add the text of a refusal within the content."""
        self.refusal = refusal
        self.pieces.append(LayoutPiece("refusal", **marks))

    def add_result(self, **marks: Any) -> None:
        """Begin the content of a tool result."""
        self.pieces.append(LayoutPiece("result", **marks))

    def add_other(self, name: str, block: object) -> None:
        """Add something that only the protocol understands."""
        self.pieces.append(LayoutPiece("other", name=name, data=to_json(block)))

    def build(self) -> Turn:
        """Return the turn."""
        text = "".join(self.texts)
        called = "tool result" if self.role == "tool" else self.role
        origin = Origin(OriginKind.HISTORY, str(self.number), f"{called} {self.number}")
        form = WireForm(
            self.protocol, self.shape, self.joined, self.role_word, self.slot, self.extras
        )
        semantics = MessageSemantics(
            reasoning=tuple(self.reasoning),
            refusal=self.refusal,
            layout=self._layout(),
            failed=self.failed,
            wire=form,
        )
        return Turn(
            role=self.role,
            text=Text.of(text, origin),
            origin=origin,
            placement=_PLACEMENT,
            tool_calls=tuple(self.calls),
            tool_call_id=self.tool_call_id,
            name=self.name,
            semantics=semantics,
            parts=tuple(self.parts),
        )

    def _layout(self) -> Layout | None:
        """Return the layout, or None if it adds nothing."""
        ranks = [_ORDER[piece.kind] for piece in self.pieces]
        plain = ranks == sorted(ranks) and ranks.count(2) <= 1 and 9 not in ranks
        marked = any(piece != LayoutPiece(piece.kind, piece.length) for piece in self.pieces)
        # An empty text block is something else than none, and a refusal among the content than
        # one beside it.
        telling = any(
            piece.kind == "refusal" or (piece.kind == "text" and not piece.length)
            for piece in self.pieces
        )
        if plain and not marked and not telling:
            return None
        return Layout(self.protocol, tuple(self.pieces))


def turns_with_results(
    first: TurnBuilder,
    parts: Iterable[Fields],
    is_result: Callable[[Fields], bool],
    read_result: Callable[[Fields, TurnBuilder], None],
    read_part: Callable[[Fields, TurnBuilder], None],
) -> Iterator[Turn]:
    """Yield the turns of a message whose tool results are turns of their own. Each is marked as
    joined to the one before it; `first` has what belongs to the message as a whole.
    """
    role, count = first.role, 0
    rest: TurnBuilder | None = None

    def begin(role: MessageRole) -> TurnBuilder:
        nonlocal count
        builder = first if not count else TurnBuilder(first.protocol, role, first.number + count)
        builder.role, builder.shape, builder.joined = role, first.shape, count > 0
        count += 1
        return builder

    for part in parts:
        if is_result(part) and role == "user":
            if rest is not None:
                yield rest.build()
                rest = None
            result = begin("tool")
            read_result(part, result)
            yield result.build()
        else:
            rest = rest or begin(role)
            read_part(part, rest)
    if rest is not None or not count:
        yield (rest or begin(role)).build()


def take_role(message: Fields, roles: Mapping[str, MessageRole]) -> tuple[str, MessageRole]:
    """Take the role of a message: the word for it, and its meaning. Raises InputError."""
    word = message.remaining.pop("role", None)
    if not isinstance(word, str) or word not in roles:
        words = ", ".join(roles)
        raise InputError(f"{message.path('role')} must be one of {words}, not {excerpt(word)}.")
    return word, roles[word]


_CACHE_MARKS = {
    "cache_control": [{"type": "ephemeral", **ttl} for ttl in ({}, {"ttl": "5m"}, {"ttl": "1h"})],
    "prompt_cache_breakpoint": [
        {"mode": "explicit", **ttl} for ttl in ({}, {"ttl": "30m"}, {"ttl": "12h"})
    ],
}
"""The marks of blocks, by their keys."""


def take_cache_mark(block: Fields) -> str:
    """Take a block's cache mark as compact JSON, if its provider takes that."""
    for key, accepted in _CACHE_MARKS.items():
        value = block.remaining.get(key)
        if value in accepted:
            del block.remaining[key]
            return to_json(value)
    return ""


def take_marks(block: Fields) -> dict[str, Any]:
    """Return the remaining keys of a block as marks of its piece."""
    cache = take_cache_mark(block)
    return cast("dict[str, Any]", {"cache": cache, "extras": block.remaining_json()})


def captured_envelope(
    request: WireRequest, turns: Iterable[Turn], notes: Iterable[Note], known: Collection[str] = ()
) -> ChatEnvelope:
    """Return the envelope of a captured request.

    `known` are the types of content that the protocol has although no unified message can express
    them. A note tells of all others.
    """
    turns, protocol = tuple(turns), request.protocol
    notes = (*notes, *_unknown_notes(turns, known, protocol))
    return ChatEnvelope(
        turns,
        request.parameters,
        request.tools,
        notes=notes,
        source=protocol,
        rest=request.rest,
    )


def _unknown_notes(
    turns: Iterable[Turn], known: Collection[str], source: Protocol
) -> Iterator[Note]:
    places: dict[str, list[Turn]] = {}
    for turn in turns:
        layout = turn.semantics.layout
        for piece in layout.pieces if layout is not None else ():
            if piece.kind == "other" and piece.name not in known:
                places.setdefault(piece.name, []).append(turn)
    for name, affected in places.items():
        what = f"Content of the type {excerpt(name)} is" if name else "Content without a type is"
        times = f" ({len(affected)} times)" if len(affected) > 1 else ""
        sentence = f"{what} not known here{times}: to {source.label} it is sent as it came."
        yield Note(Level.WARNING, "unknown-content", sentence, affected[0].origin)
