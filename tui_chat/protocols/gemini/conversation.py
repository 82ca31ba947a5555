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

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject, form_of
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Arr, Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.text import Text
from tui_chat.models.turn import Turn, with_block
from tui_chat.protocols.base import SYSTEM_SEPARATOR
from tui_chat.protocols.common.loss_notes import FILLER, NOTHING_TO_SEND, filler_note
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.trees import Word, object_of
from tui_chat.protocols.common.turn_fit import merged_text, variant
from tui_chat.protocols.gemini.contents import JOINED, write_content
from tui_chat.protocols.gemini.sent_content import SentContent, instruction_notes, sent_content

_GEMINI = Protocol.GEMINI
_FILLER = object_of({"role": Word("user"), "parts": [{"text": Word(FILLER)}]})


def conversation(request: RequestEncoder, turns: Sequence[Turn]) -> JsonObject:
    """Return `systemInstruction`, if there is one, and `contents`."""
    spoken = [turn for turn in turns if turn.role != "system"]
    system = [turn for turn in turns if turn.role == "system"]
    head = next((i for i, turn in enumerate(turns) if turn.role != "system"), len(turns))
    for turn in turns[head:]:
        if turn.role == "system":
            sentence = "A later system message is moved to the system instruction: Gemini accepts "
            sentence += "none between other messages."
            request.notes.append(Note(Level.WARNING, "system-moved", sentence, turn.origin))
    contents = list(_contents(request, spoken))
    if _begins_with_call(spoken):
        contents.insert(0, _FILLER)
        request.notes.append(filler_note("Gemini accepts no tool call as the first content"))
    if not contents and system:
        contents.append(_FILLER)
        request.notes.append(filler_note("Gemini requires a message to answer"))
    elif not contents:
        request.notes.append(NOTHING_TO_SEND)
    instruction = _instruction(request, system)
    written = {} if instruction is None else {"systemInstruction": instruction}
    return {**written, "contents": Arr(tuple(contents))}


def _begins_with_call(spoken: Sequence[Turn]) -> bool:
    """Return True if the first content has a tool call, and was not captured so."""
    for index, turn in enumerate(spoken):
        if turn.role != "assistant" or turn.captured_from(_GEMINI):
            return False
        if turn.tool_calls:
            return index == 0 or _joins(spoken[index - 1 : index], turn)
    return False


# --- contents ----------------------------------------------------------------------------


def _contents(request: RequestEncoder, spoken: Sequence[Turn]) -> Iterator[Tree]:
    """Yield the contents, each of one turn or of several that are joined."""
    signed = _signed_from(request, spoken)
    run: list[Turn] = []
    sent: list[SentContent] = []
    for index, turn in enumerate(spoken):
        if turn.role == "tool":
            turn = _named(spoken, index)
        if run and not _joins(run, turn):
            yield sent[0].content if len(run) == 1 else _joined_content(run[0], *sent)
            run, sent = [], []
        content = sent_content(turn, index >= signed)
        if content.notes:
            request.notes += content.notes
        run.append(turn)
        sent.append(content)
    if run:
        yield sent[0].content if len(run) == 1 else _joined_content(run[0], *sent)


@Memo
def _joined_content(first: Turn, *sent: SentContent) -> Obj:
    parts = [part for each in sent for part in each.parts]
    return object_of(write_content(first, parts), first.origin)


def _joins(run: Sequence[Turn], turn: Turn) -> bool:
    """Return True if a turn belongs to the content of the turns before it."""
    before = run[-1]
    if turn.captured_from(_GEMINI):
        # The turn that it was joined to may be muted, or comes later in a session.
        is_moved = turn.role == "tool" and form_of(run[0], _GEMINI) == JOINED
        if not is_moved:
            return form_of(turn, _GEMINI) == JOINED and before.role != "assistant"
    if turn.role == "assistant":
        return before.role == "assistant" and not before.tool_calls
    return turn.role == "tool" and before.role == "tool"


def _named(spoken: Sequence[Turn], index: int) -> Turn:
    """Return a result with the name of the call that it answers."""
    turn = spoken[index]
    head = turn.result
    if head is None or head.name or turn.captured_from(_GEMINI):
        return turn
    before = (spoken[place].tool_calls for place in range(index - 1, -1, -1))
    calls = next(filter(None, before), ())
    name = {call.id: call.name for call in calls}.get(head.call_id)
    if not name:
        return turn
    return variant(turn, ("named", name), lambda old: with_block(old, 0, replace(head, name=name)))


def _signed_from(request: RequestEncoder, spoken: Sequence[Turn]) -> int:
    """Return the index from which on the first call of a turn must have a signature."""
    if "gemini-3" not in request.model or request.captured:
        return len(spoken)
    users = (index for index, turn in enumerate(spoken) if turn.role == "user")
    return max(users, default=-1) + 1


# --- the instruction ---------------------------------------------------------------------


def _instruction(request: RequestEncoder, turns: Sequence[Turn]) -> Json:
    """Return the `systemInstruction`; None if there is none."""
    if len(turns) == 1 and turns[0].captured_from(_GEMINI):
        sent = sent_content(turns[0], False)
        return write_content(turns[0], Arr(sent.parts, turns[0].origin))
    for turn in turns:
        request.notes += instruction_notes(turn)
    text = Text.join(SYSTEM_SEPARATOR, map(merged_text, turns))
    return {"parts": [{"text": text}]} if text.plain else None
