"""Turns as the `systemInstruction` and `contents` of a request.

1. All system turns, joined by a blank line, are the one `systemInstruction`; a later one is
   moved there with a note. A captured instruction keeps its parts.
2. A call must follow a user content: the model's turns before it are one content with it, and if
   no user content precedes that, the smallest possible one is added, with a note.
3. The results of a turn are in the user content that follows its calls, each with its function's
   name. A captured content that held several turns holds them again.
4. If there are only system turns, the smallest user content is added too.
5. Gemini 3 refuses a step of the current turn whose first function call has no signature. Calls
   of another model have none; the substitute that Google documents is sent, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Turn
from tui_chat.models.json_tree import Arr, Obj, Str, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.semantics import Layout, LayoutPiece
from tui_chat.protocols.common.content_order import (
    merged_note,
    merged_text,
    ordered_content,
    text_borders,
)
from tui_chat.protocols.common.encoding import (
    FILLER,
    NOTHING_TO_SEND,
    Items,
    captured_origin,
    constant,
    filler_note,
    native_form,
)
from tui_chat.protocols.common.loss_notes import system_moved_note
from tui_chat.protocols.common.tool_pairing import variant
from tui_chat.protocols.gemini.settings import GeminiSettings
from tui_chat.protocols.gemini.spelling import as_spelled
from tui_chat.protocols.gemini.turn_content import content_of, encode_result, encode_turn
from tui_chat.protocols.roles import adapt_roles, adapted_role, extract_system_instruction

_GEMINI = Protocol.GEMINI
STAND_IN = "skip_thought_signature_validator"
"""The signature that Google documents for calls which have none of their own."""

_FILLER = Obj((("role", constant("user")), ("parts", Arr((Obj((("text", constant(FILLER)),)),)))))


@dataclass(slots=True)
class Conversation:
    """The encoding of the turns so far."""

    system: list[Turn] = field(default_factory=list[Turn])
    contents: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])


def encode_messages(
    envelope: ChatEnvelope, turns: Sequence[Turn]
) -> tuple[Tree | None, tuple[Tree, ...], list[Note]]:
    """Return `systemInstruction`, or None where there is none, `contents`, and the notes."""
    conversation = Conversation()
    head = 0
    while head < len(turns) and turns[head].role == "system":
        head += 1
    conversation.system += turns[:head]
    _add_contents(conversation, _with_signatures(envelope, turns[head:], conversation.notes))
    if _begins_with_call(turns[head:]):
        conversation.contents.insert(0, _FILLER)
        conversation.notes.append(filler_note("Gemini accepts no tool call as the first content"))
    if not conversation.contents:
        if conversation.system:
            conversation.contents.append(_FILLER)
            conversation.notes.append(filler_note("Gemini requires a message to answer"))
        else:
            conversation.notes.append(NOTHING_TO_SEND)
    return _instruction(envelope, conversation), tuple(conversation.contents), conversation.notes


def _begins_with_call(turns: Sequence[Turn]) -> bool:
    """Return True if the first content has a tool call, and was not captured so."""
    spoken = [turn for turn in turns if turn.role != "system"]  # the rest is moved away
    for index, turn in enumerate(spoken):
        if turn.role != "assistant" or native_form(turn, _GEMINI) is not None:
            return False
        if turn.tool_calls:
            return index == 0 or _joins(spoken[index - 1], turn)
    return False


def _add_contents(conversation: Conversation, turns: Sequence[Turn]) -> None:
    run: list[Turn] = []
    caller: Turn | None = None
    for turn in turns:
        if turn.role == "system":
            why = "Gemini accepts none between other messages"
            note = system_moved_note(turn, "moved to the system instruction", why)
            conversation.notes.append(note)
            conversation.system.append(turn)
            continue
        conversation.notes += encode_turn(turn).notes
        if run and _joins(run[-1], turn):
            run.append(turn)
            continue
        if run:
            conversation.contents.append(_content(run, caller))
            caller = run[-1] if run[-1].tool_calls else None
        run = [turn]
    if run:
        conversation.contents.append(_content(run, caller))


def _joins(before: Turn, turn: Turn) -> bool:
    """Return True if a turn belongs to the content of the turn before it."""
    form = native_form(turn, _GEMINI)
    if form is not None:
        return form.joined
    if turn.role == "assistant":
        return before.role == "assistant" and not before.tool_calls
    return turn.role == "tool" and before.role == "tool"


def _content(run: list[Turn], caller: Turn | None) -> Tree:
    """Return the content of a run of turns. Results are named after the calls before them."""
    if run[0].role != "tool" and len(run) == 1:
        return encode_turn(run[0]).content
    nameless = any(
        turn.role == "tool" and not turn.name and native_form(turn, _GEMINI) is None for turn in run
    )
    if caller is not None and nameless:
        return _content_with_names(caller, tuple(run))
    return encode_turn(run[0]).content if len(run) == 1 else _joined_content(run[0], tuple(run[1:]))


def _join_turns(first: Turn, others: tuple[Turn, ...]) -> Obj:
    parts = tuple(part for turn in (first, *others) for part in encode_turn(turn).parts)
    return content_of(first, adapted_role(first.role, _GEMINI), parts)


def _name_results(caller: Turn, run: tuple[Turn, ...]) -> Obj:
    names = {call.id: call.name for call in caller.tool_calls}
    parts: list[Obj] = []
    for turn in run:
        if turn.role == "tool":
            parts.append(encode_result(turn, turn.name or names.get(turn.tool_call_id, ""), []))
        else:
            parts += encode_turn(turn).parts
    return content_of(run[0], "user", tuple(parts))


_joined_content = Memo(_join_turns)
_content_with_names = Memo(_name_results)


def _with_signatures(
    envelope: ChatEnvelope, turns: Sequence[Turn], notes: list[Note]
) -> Sequence[Turn]:
    """Return the turns, the calls of the current one signed."""
    model = envelope.parameters.model.value
    if "gemini-3" not in model or envelope.semantics.source is _GEMINI:
        return turns
    last = len(turns)
    while last and turns[last - 1].role != "user":
        last -= 1
    return [
        *turns[:last],
        *(_with_signature(turn, notes) if turn.tool_calls else turn for turn in turns[last:]),
    ]


def _with_signature(turn: Turn, notes: list[Note]) -> Turn:
    first = next((p for p, _ in ordered_content(turn, _GEMINI) if p.kind == "call"), None)
    if first is None or first.signature:
        return turn
    sentence = (
        "The first tool call has no thought signature, which Gemini 3 requires; Google's "
        "placeholder for calls of other models is sent."
    )
    notes.append(Note(Level.WARNING, "signature-stand-in", sentence, turn.origin))
    return variant(turn, STAND_IN, _add_signature)


def _add_signature(turn: Turn) -> Turn:
    pieces = [piece for piece, _ in ordered_content(turn, _GEMINI)]
    index = next(i for i, piece in enumerate(pieces) if piece.kind == "call")
    pieces[index] = replace(pieces[index], signature=STAND_IN)
    kept: list[LayoutPiece] = [piece for piece in pieces if piece.kind != "other"]
    semantics = replace(turn.semantics, layout=Layout(_GEMINI, tuple(kept)))
    return replace(turn, semantics=semantics)


def _with_merged_text(turn: Turn) -> Turn:
    semantics = replace(turn.semantics, layout=None)
    return replace(turn, text=merged_text(turn, _GEMINI, []), semantics=semantics)


def _instruction(envelope: ChatEnvelope, conversation: Conversation) -> Tree | None:
    """Return the `systemInstruction`."""
    turns = conversation.system
    if not turns:
        return None
    namespace = envelope.semantics.namespace(GeminiSettings)
    if len(turns) == 1 and native_form(turns[0], _GEMINI) is not None:
        parts = encode_turn(turns[0]).parts
        about = namespace.system_instruction
        items: Items = [("parts", Arr(parts, turns[0].origin))]
        if isinstance(about, dict):
            rest = cast(
                "Obj", tree_of(cast("dict[str, Any]", about), captured_origin("instruction"))
            )
            items += rest.items
        return as_spelled(Obj(tuple(items)), namespace.spelled)
    for turn in turns:
        conversation.notes += encode_turn(turn).notes
    merged = [
        variant(turn, "merged text", _with_merged_text) if text_borders(turn) else turn
        for turn in turns
    ]
    conversation.notes += [
        merged_note(turn, _GEMINI)
        for turn, same in zip(turns, merged, strict=True)
        if turn is not same
    ]
    text = extract_system_instruction(adapt_roles(merged, _GEMINI))
    if not text.plain:
        return None
    return Obj((("parts", Arr((Obj((("text", Str(text)),)),))),))
