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
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Turn
from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.semantics import WireForm
from tui_chat.protocols.anthropic.turn_content import TurnContent, encode_turn
from tui_chat.protocols.common.encoding import (
    FILLER,
    NOTHING_TO_SEND,
    Items,
    constant,
    filler_note,
    merge_extras,
    native_form,
)
from tui_chat.protocols.common.loss_notes import begins_reply, blank_message_note, system_moved_note
from tui_chat.protocols.common.tool_pairing import variant

_ANTHROPIC = Protocol.ANTHROPIC
_FILLER = Obj((("role", constant("user")), ("content", constant(FILLER))))


@dataclass(slots=True)
class Conversation:
    """The encoding of the turns so far."""

    system: list[Turn] = field(default_factory=list[Turn])
    runs: list[list[Turn]] = field(default_factory=list[list[Turn]])
    """The turns of each message."""
    messages: list[Tree] = field(default_factory=list[Tree])
    notes: list[Note] = field(default_factory=list[Note])
    ends_blank: bool = False
    """True if the last turn was a user's and was left out."""


def encode_messages(
    envelope: ChatEnvelope, turns: Sequence[Turn], endpoint: Endpoint
) -> tuple[Tree | None, tuple[Tree, ...], list[Note]]:
    """Return `system`, or None where there is none, `messages`, and the notes."""
    model = envelope.parameters.model.value
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
    if why and envelope.semantics.source is None:
        turns, prefills = _without_prefill(turns, why)
    in_place = facts.mid_history_system
    conversation = Conversation()
    head = _leading(turns)
    conversation.system += turns[:head]
    rest = turns[head:]
    for index, turn in enumerate(rest):
        if (
            turn.role == "system"
            and native_form(turn, _ANTHROPIC) is None
            and not (in_place and _may_stay(rest, index))
        ):
            _move(conversation, turn, endpoint.system_fallback, is_known=in_place is not None)
        else:
            _add(conversation, turn)
    conversation.messages += map(_message, conversation.runs)
    conversation.notes += prefills
    _complete_end(conversation, has_turns=bool(turns), why_no_prefill=why)
    return _system(conversation), tuple(conversation.messages), conversation.notes


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
    count = 0
    for turn in turns:
        form = native_form(turn, _ANTHROPIC)
        if turn.role != "system" or (form is not None and form.slot != "system"):
            break
        count += 1
    return count


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
    if fallback == "hoist":
        conversation.notes.append(system_moved_note(turn, "moved to the top", why))
        conversation.system.append(turn)
        return
    conversation.notes.append(system_moved_note(turn, "sent as a user message", why))
    _add(conversation, variant(turn, "as user", _as_user))


def _as_user(turn: Turn) -> Turn:
    return replace(turn, role="user", semantics=replace(turn.semantics, wire=None))


def _add(conversation: Conversation, turn: Turn) -> None:
    content = encode_turn(turn)
    if content.notes:
        conversation.notes += content.notes
    conversation.ends_blank = False
    form = native_form(turn, _ANTHROPIC)
    if content.content is None and form is None:
        conversation.notes.append(blank_message_note(turn))
        conversation.ends_blank = turn.role == "user"
        return
    if conversation.runs and _joins(conversation.runs[-1], turn, form):
        conversation.runs[-1].append(turn)
    else:
        conversation.runs.append([turn])


def _joins(run: Sequence[Turn], turn: Turn, form: WireForm | None) -> bool:
    """Return True if a turn belongs to the message of the turns before it."""
    if form is not None:
        return form.joined
    return turn.role == "tool" and run[-1].role == "tool"


def _message(run: Sequence[Turn]) -> Tree:
    return encode_turn(run[0]).message if len(run) == 1 else _joined_message(run[0], tuple(run[1:]))


def _join_turns(first: Turn, others: tuple[Turn, ...]) -> Obj:
    content: list[TurnContent] = [encode_turn(turn) for turn in (first, *others)]
    origin = first.origin
    blocks = tuple(block for piece in content for block in piece.blocks)
    items: Items = [("role", constant("user")), ("content", Arr(blocks, origin))]
    form = native_form(first, _ANTHROPIC)
    return Obj(tuple(merge_extras(items, form.extras if form else "", origin)), origin)


_joined_message = Memo(_join_turns)


def _complete_end(conversation: Conversation, *, has_turns: bool, why_no_prefill: str) -> None:
    """Make the end of the conversation valid. `why_no_prefill` is the reason why it may not end
    with a message of the model; empty if it may.
    """
    last = conversation.runs[-1][-1] if conversation.runs else None
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
        elif (trimmed := _trim_message(conversation.messages[-1])) is not None:
            conversation.messages[-1] = trimmed
            sentence = (
                "Final white space of the last assistant message is refused, so it is removed."
            )
            conversation.notes.append(Note(Level.INFO, "space-cut", sentence, last.origin))


def unthinking_turn(messages: Sequence[Tree]) -> str:
    """Return what the model's last turn begins with, if the request goes on with that turn and it
    does not begin with thinking; empty if it does, or if the user's turn is next.

    A turn lasts from call to call, and user messages with results are a part of it: “Expected
    `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final
    `assistant` message must start with a thinking block” [I: opencode#3077, llm-functions#222].
    """
    begun, answered, has_results = "", False, False
    for message in reversed(messages):
        role, kinds = _role_and_kinds(message)
        if role == "user":
            answered, has_results = True, has_results or "tool_result" in kinds
        elif role == "assistant":
            if answered and not has_results:
                break
            begun = {"text": "a text", "tool_use": "a call"}.get(kinds[0], "") if kinds else ""
            if not begun:
                break
            answered = has_results = False
    return begun


def _role_and_kinds(message: Tree) -> tuple[str, list[str]]:
    """Return the role of a message and the types of its blocks."""
    assert isinstance(message, Obj)
    content = message.get("content")
    blocks = content.items if isinstance(content, Arr) else ()
    kinds = [_plain(block.get("type")) for block in blocks if isinstance(block, Obj)]
    return _plain(message.get("role")), kinds if isinstance(content, Arr) else ["text"]


def _plain(tree: Tree | None) -> str:
    return tree.text.plain if isinstance(tree, Str) else ""


def _add_filler(conversation: Conversation, why: str) -> None:
    conversation.messages.append(_FILLER)
    conversation.notes.append(filler_note(why))


def _is_paused(turn: Turn) -> bool:
    """Return True if Anthropic paused the final turn of the model."""
    layout = turn.semantics.layout
    if layout is None or layout.protocol is not _ANTHROPIC:
        return False
    return any(piece.kind == "other" for piece in layout.pieces)


def _trim_message(message: Tree) -> Obj | None:
    """Return a final assistant message without the white space that its text ends in; None where
    it ends in none, or has nothing else. It looks at what is sent, since a message may end in a
    refusal, or in text whose following pieces were left out.
    """
    assert isinstance(message, Obj)
    content = dict(message.items).get("content")
    fit: Tree | None = None
    if isinstance(content, Str):
        fit = _trim_text(content)
    elif isinstance(content, Arr):
        fit = _trim_blocks(content)
    if fit is None:
        return None
    items = ((key, fit if key == "content" else value) for key, value in message.items)
    return Obj(tuple(items), message.origin)


def _trim_text(encode_turn: Str) -> Str | None:
    plain = encode_turn.text.plain
    kept = len(plain.rstrip())
    return Str(encode_turn.text[:kept]) if 0 < kept < len(plain) else None


def _trim_blocks(content: Arr) -> Arr | None:
    """Return the blocks without blank text blocks at their end, the last text trimmed."""
    blocks = list(content.items)
    while blocks and isinstance(text := _text_of(blocks[-1]), Str) and not text.text.plain.strip():
        blocks.pop()
    if not blocks:
        return None
    last, text = blocks[-1], _text_of(blocks[-1])
    if text is not None and (fit := _trim_text(text)) is not None:
        assert isinstance(last, Obj)
        items = ((key, fit if key == "text" else value) for key, value in last.items)
        blocks[-1] = Obj(tuple(items), last.origin)
    elif len(blocks) == len(content.items):
        return None
    return Arr(tuple(blocks), content.origin)


def _text_of(block: Tree) -> Str | None:
    """Return the text of a text block; None for any other block."""
    fields = dict(block.items) if isinstance(block, Obj) else {}
    kind, text = fields.get("type"), fields.get("text")
    is_text = isinstance(kind, Str) and kind.text.plain == "text"
    return text if is_text and isinstance(text, Str) else None


def _system(conversation: Conversation) -> Tree | None:
    """Return the top-level `system`."""
    turns = conversation.system
    if not turns:
        return None
    form = native_form(turns[0], _ANTHROPIC)
    if len(turns) == 1 and form is not None and form.shape == "string":
        return Str(turns[0].text)
    blocks: list[Tree] = []
    for turn in turns:
        content = encode_turn(turn)
        conversation.notes += content.notes
        if not content.blocks:
            conversation.notes.append(blank_message_note(turn))
        blocks += content.blocks
    return Arr(tuple(blocks)) if blocks else None
