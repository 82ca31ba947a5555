"""A turn as it is sent: fit for the protocol, written as items, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

1. Reasoning is sent back as the item that it was if it has its encrypted content, which the server
   requires.
2. A refusal is sent back as text of the model, and a picture that it made as its item. Any other
   picture or file of the model or of a system message is left out.
3. OpenAI refuses an item whose id is not in the form of its type: it would refuse every later
   request of the session. If an id of a turn is not, none of the turn's ids is sent: a reasoning
   item and the item that follows it are sent both with their ids or both without. Only a request
   that was captured itself is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn, kept_blocks
from tui_chat.protocols.common.losses import loss_notes, reason_note
from tui_chat.protocols.common.reading import items_of
from tui_chat.protocols.common.trees import dictionary, object_of, plain
from tui_chat.protocols.common.turn_fit import portable
from tui_chat.protocols.openai_responses.messages import (
    IMAGE_CALL,
    RESPONSES,
    continues,
    read_items,
    write_items,
    write_part,
)


@dataclass(frozen=True, slots=True)
class Target:
    """Facts about the model and the request that a turn is sent in."""

    developer: bool = False
    """True if system messages have the role `developer`."""
    captured: bool = False
    """True if the request itself was captured from this protocol."""


@dataclass(frozen=True, slots=True, eq=False)
class SentItems:
    """A turn in the form of this protocol."""

    trees: tuple[Obj, ...]
    notes: tuple[Note, ...] = ()


@Memo
def sent_items(turn: Turn, to: Target) -> SentItems:
    """Return a turn as it is sent."""
    fit = turn if turn.captured_from(RESPONSES) else _fitted(portable(turn, RESPONSES))
    written, notes = write_items(fit, developer=to.developer), list[Note]()
    if not to.captured:
        written, notes = _with_valid_ids(turn, written)
    notes += _loss_notes(turn, fit, written)
    return SentItems(tuple(object_of(item, turn.origin) for item in written), tuple(notes))


# --- fitting -----------------------------------------------------------------------------


def _fitted(turn: Turn) -> Turn:
    """Return a turn without what is not accepted."""
    refuses = any(isinstance(block, TextBlock) and block.is_refusal for block in turn.blocks)
    kept: list[int] = []
    is_thought_sent = False
    for index, block in enumerate(turn.blocks):
        match block:
            case ReasoningBlock():
                if not continues(block):
                    is_thought_sent = "encrypted_content" in _keys(block)
                is_sent = is_thought_sent
            case MediaBlock() if turn.role == "assistant":
                is_sent = form_of(block, RESPONSES) == IMAGE_CALL and bool(block.data)
            case MediaBlock():
                is_sent = turn.role != "system" and write_part(block) is not None
            case TextBlock():
                is_own = own(block, RESPONSES) is not None
                is_sent = bool(block.text) or (is_own and not refuses)
            case _:
                is_sent = True
        if is_sent:
            kept.append(index)
    return kept_blocks(turn, kept)


def _keys(block: Block) -> JsonObject:
    extras = own(block, RESPONSES)
    return dict(extras.keys) if extras is not None else {}


# --- ids of items ------------------------------------------------------------------------

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID_STARTS = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fc",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "local_shell_call": "lsh",
    "shell_call": "sh",
    "apply_patch_call": "apc",
    "tool_search_call": "tsc",
    "compaction": "cmp",
}
"""The prefixes of OpenAI's ids, by the type of the item, as recorded answers have them."""


def _with_valid_ids(
    turn: Turn, written: Sequence[JsonObject]
) -> tuple[list[JsonObject], list[Note]]:
    """Return the items of a turn with the ids that are sent, and notes on those that are not. An
    item that only the provider understands is not sent without its id.
    """
    items: list[JsonObject] = []
    notes: list[Note] = []
    is_wrong = any(_type_of(item) in _OURS and not _has_valid_id(item) for item in written)
    if is_wrong:
        sentence = "An item id is not in a form that OpenAI accepts; the message is sent without "
        notes.append(Note(Level.INFO, "item-id-left-out", f"{sentence}ids.", turn.origin))
    for item in written:
        if _type_of(item) in _OURS:
            items += _without_id(item) if is_wrong else [item]
        elif _has_valid_id(item):
            items.append(item)
        else:
            what = f"{_type_of(item)} {plain(item.get('id'))}"
            notes.append(reason_note("opaque", turn.origin, RESPONSES, what))
    return items, notes


_OURS = frozenset(
    (
        *("message", "reasoning", "function_call", "function_call_output"),
        *("custom_tool_call", "custom_tool_call_output"),
    )
)
"""Types of items that have a form without an id."""


def _type_of(item: JsonObject) -> str:
    kind = plain(item.get("type", "message" if "role" in item else ""))
    return kind if isinstance(kind, str) else ""


def _has_valid_id(item: JsonObject) -> bool:
    """Return True if the id of an item is in the form that OpenAI gives to items of its type. None
    always fits, and so does any id of an unknown type.
    """
    start, identity = _ID_STARTS.get(_type_of(item)), plain(item.get("id"))
    if start is None or identity in (None, ""):
        return True
    is_text = isinstance(identity, str) and _ID.fullmatch(identity) is not None
    return is_text and identity.startswith(start)


def _without_id(item: JsonObject) -> Iterator[JsonObject]:
    """Yield an item without its id: of a message of the model each part in the short form."""
    parts = [dictionary(part) for part in items_of(item.get("content"))]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    if plain(item.get("role")) != "assistant" or not texts or None in texts:
        yield {key: value for key, value in item.items() if key != "id"}
        return
    phase = {key: item[key] for key in ("phase",) if key in item}
    yield from ({"role": item["role"], "content": text, **phase} for text in texts)


# --- notes -------------------------------------------------------------------------------


def _loss_notes(turn: Turn, fit: Turn, written: Sequence[JsonObject]) -> Iterator[Note]:
    """Yield the notes on what is lost between a turn and its items."""
    is_own = turn.captured_from(RESPONSES)

    def hear() -> Iterable[Turn]:
        return [fit] if is_own else read_items([plain(item) for item in written])

    yield from loss_notes(turn, RESPONSES, hear, sends_marks=is_own)
