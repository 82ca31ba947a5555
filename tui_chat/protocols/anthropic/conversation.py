"""Turns as the `system` and `messages` of a request.

1. Leading system turns are text blocks of the top-level `system`. A later one stays in place
   if the model accepts that and it follows a user turn and precedes an assistant turn or nothing;
   else it is moved to the top or becomes a user turn, with a note.
2. All results of a turn are in one user message. A captured message that held several turns holds
   them again.
3. A conversation must end with something to answer. If a blank user turn was left out at its end,
   if there are only system turns, or if the model does not continue an assistant turn, the smallest
   possible user message is added, with a note.
4. A final assistant text must not end in white space, so that is cut, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import OpaqueBlock, form_of
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.turn import Turn
from tui_chat.protocols.anthropic.messages import ANTHROPIC, JOINED, SYSTEM, framed
from tui_chat.protocols.anthropic.sent_message import SentTurn, sent_turn, trimmed_message
from tui_chat.protocols.common.loss_notes import FILLER, NOTHING_TO_SEND, begins_reply, filler_note
from tui_chat.protocols.common.losses import reason_note
from tui_chat.protocols.common.trees import Word, object_of
from tui_chat.protocols.common.turn_fit import variant

_FILLER = object_of({"role": Word("user"), "content": Word(FILLER)})


_Placed = tuple[Turn, SentTurn]


@dataclass(slots=True)
class Conversation:
    """The turns by their places, and what is sent of them."""

    system: list[Turn] = field(default_factory=list[Turn])
    runs: list[list[_Placed]] = field(default_factory=list[list[_Placed]])
    """The turns of each message, and what is sent of them."""
    messages: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])
    ends_blank: bool = False
    """True if the last turn was a user's and was left out."""


def conversation_of(
    turns: Sequence[Turn], model: str, endpoint: Endpoint, *, is_composed: bool
) -> Conversation:
    """Return the conversation of a request to a model. `is_composed`: it was not captured."""
    facts = endpoint.facts_of(model)
    why = ""
    if facts.prefill is False:
        why = f"{model} does not continue an assistant message"
    elif facts.prefill is None and is_newer_claude(model):
        why = (
            f"it is not known whether {model} continues an assistant message, and the newest known "
            "Claude models do not"
        )
    prefills = list[Note]()
    if why and is_composed:
        turns, prefills = _without_prefill(turns, why)
    in_place = facts.mid_history_system
    conversation = Conversation()
    head = _leading(turns)
    conversation.system += turns[:head]
    rest = turns[head:]
    for index, turn in enumerate(rest):
        may_stay = turn.role != "system" or turn.captured_from(ANTHROPIC)
        if may_stay or (in_place and _may_stay(rest, index)):
            _add(conversation, turn)
        else:
            _move(conversation, turn, endpoint.system_fallback, is_known=in_place is not None)
    conversation.messages += map(_message, conversation.runs)
    conversation.notes += prefills
    _complete_end(conversation, has_turns=bool(turns), why_no_prefill=why)
    return conversation


def _without_prefill(turns: Sequence[Turn], why: str) -> tuple[Sequence[Turn], list[Note]]:
    """Return the turns with the beginning of the reply as the user's, and notes on it: as a user
    message it still steers the reply. The model's own last message stays its own.
    """
    first = len(turns)
    while first and begins_reply(turns[first - 1]):
        first -= 1
    notes: list[Note] = []
    for turn in turns[first:]:
        sentence = f"The beginning of the reply ({turn.origin.label}) is sent as a user message: "
        notes.append(Note(Level.WARNING, "prefill-as-user", f"{sentence}{why}.", turn.origin))
    changed = [variant(turn, "as user", _as_user) for turn in turns[first:]]
    return ([*turns[:first], *changed] if changed else turns), notes


def _leading(turns: Sequence[Turn]) -> int:
    """Return how many turns go to the top-level `system`."""
    for index, turn in enumerate(turns):
        is_elsewhere = turn.captured_from(ANTHROPIC) and form_of(turn, ANTHROPIC) != SYSTEM
        if turn.role != "system" or is_elsewhere:
            return index
    return len(turns)


def _may_stay(turns: Sequence[Turn], index: int) -> bool:
    """Return True if a later system turn is where the API accepts one."""
    before, after = index - 1, index + 1
    while before >= 0 and turns[before].role == "system":
        before -= 1
    while after < len(turns) and turns[after].role == "system":
        after += 1
    follows = before >= 0 and turns[before].role in ("user", "tool")
    return follows and (after == len(turns) or turns[after].role == "assistant")


def _move(conversation: Conversation, turn: Turn, fallback: str, *, is_known: bool) -> None:
    why = "this model accepts none there" if is_known else "it is unknown if the model accepts one"
    is_hoisted = fallback == "hoist"
    what = "moved to the top" if is_hoisted else "sent as a user message"
    sentence = f"A later system message is {what}: {why}."
    conversation.notes.append(Note(Level.WARNING, "system-moved", sentence, turn.origin))
    if is_hoisted:
        conversation.system.append(turn)
    else:
        _add(conversation, variant(turn, "as user", _as_user))


def _as_user(turn: Turn) -> Turn:
    return replace(turn, role="user", extras=None)


def _add(conversation: Conversation, turn: Turn) -> None:
    sent = sent_turn(turn)
    conversation.notes += sent.notes
    conversation.ends_blank = False
    if sent.message is None:
        conversation.notes.append(reason_note("message", turn.origin, ANTHROPIC))
        conversation.ends_blank = turn.role == "user"
    elif conversation.runs and _joins(conversation.runs[-1][-1][0], turn):
        conversation.runs[-1].append((turn, sent))
    else:
        conversation.runs.append([(turn, sent)])


def _joins(before: Turn, turn: Turn) -> bool:
    """Return True if a turn belongs to the message of the turn before it."""
    if turn.captured_from(ANTHROPIC):
        return form_of(turn, ANTHROPIC) == JOINED and before.role in ("user", "tool")
    return turn.role == "tool" == before.role


def _message(run: Sequence[_Placed]) -> Tree:
    first, sent = run[0]
    message = sent.message if len(run) == 1 else _joined_message(first, *(s for _, s in run))
    assert message is not None
    return message


@Memo
def _joined_message(first: Turn, *sent: SentTurn) -> Obj:
    blocks = [block for each in sent for block in each.blocks]
    return object_of(framed(first, blocks), first.origin)


def _complete_end(conversation: Conversation, *, has_turns: bool, why_no_prefill: str) -> None:
    """Make the end of the conversation valid. `why_no_prefill` is the reason why it may not end
    with a message of the model; empty if it may.
    """
    last = conversation.runs[-1][-1][0] if conversation.runs else None
    if last is None:
        if not has_turns:
            conversation.notes.append(NOTHING_TO_SEND)
            return
        _add_filler(conversation, "Anthropic requires a message to answer")
    elif conversation.ends_blank:
        _add_filler(conversation, "the last message is blank, and blank text is refused")
    elif last.role == "assistant" and not _is_paused(last):
        if why_no_prefill:
            _add_filler(conversation, why_no_prefill)
        elif (trimmed := trimmed_message(last)) is not None:
            conversation.messages[-1] = trimmed
            sentence = (
                "Final white space of the last assistant message is refused, so it is removed."
            )
            conversation.notes.append(Note(Level.INFO, "space-cut", sentence, last.origin))


def _add_filler(conversation: Conversation, why: str) -> None:
    conversation.messages.append(_FILLER)
    conversation.notes.append(filler_note(why))


def _is_paused(turn: Turn) -> bool:
    """Return True if Anthropic paused the final turn of the model."""
    return any(isinstance(b, OpaqueBlock) and b.protocol is ANTHROPIC for b in turn.blocks)


def unthinking_turn(conversation: Conversation) -> str:
    """Return what the model's last turn begins with, if the request goes on with that turn and it
    does not begin with thinking; empty if it does, or if the user's turn is next.

    A turn lasts from call to call, and user messages with results are a part of it: “Expected
    `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final
    `assistant` message must start with a thinking block” [I: opencode#3077, llm-functions#222].
    """
    begun, answered, has_results = "", conversation.messages[-1:] == [_FILLER], False
    for run in reversed(conversation.runs):
        first, sent = run[0]
        kinds = sent.kinds
        if first.role in ("user", "tool"):
            answered = True
            has_results = has_results or any(turn.role == "tool" for turn, _ in run)
        elif first.role == "assistant":
            if answered and not has_results:
                break
            begun = {"text": "a text", "tool_use": "a call"}.get(kinds[0], "") if kinds else ""
            if not begun:
                break
            answered = has_results = False
    return begun


def system_of(conversation: Conversation) -> Tree | None:
    """Return the top-level `system`; None if there is none."""
    turns = conversation.system
    if len(turns) == 1 and turns[0].captured_from(ANTHROPIC):
        message = sent_turn(turns[0]).message
        content = message.get("content") if message is not None else None
        if isinstance(content, Str):
            return content
    blocks: list[Tree] = []
    for turn in turns:
        sent = sent_turn(turn)
        conversation.notes += sent.notes
        if not sent.blocks:
            conversation.notes.append(reason_note("message", turn.origin, ANTHROPIC))
        blocks += sent.blocks
    return Arr(tuple(blocks)) if blocks else None
