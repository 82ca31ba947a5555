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

from tui_chat.models.blocks import (
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
    keys_of,
    own,
)
from tui_chat.models.envelope import Level, Note, Turn, kept_blocks
from tui_chat.models.memo import Memo
from tui_chat.models.payload import Obj
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


@Memo
def sent_items(
    turn: Turn, developer: bool, captured: bool
) -> tuple[tuple[Obj, ...], tuple[Note, ...]]:
    """Return a turn as it is sent, and what it loses. `developer`: system messages have that role;
    `captured`: the request itself was captured from this protocol.
    """
    is_own = turn.captured_from(RESPONSES)
    fit = turn if is_own else _fitted(portable(turn, RESPONSES))
    written, notes = write_items(fit, developer=developer), list[Note]()
    if not captured:
        written, notes = _with_valid_ids(turn, written)

    def hear() -> Iterable[Turn]:
        return [fit] if is_own else read_items([plain(item) for item in written])

    notes += loss_notes(turn, RESPONSES, hear, sends_marks=is_own)
    return tuple(object_of(item, turn.origin) for item in written), tuple(notes)


def _fitted(turn: Turn) -> Turn:
    """Return a turn without what is not accepted."""
    refuses = any(isinstance(block, TextBlock) and block.is_refusal for block in turn.blocks)
    kept: list[int] = []
    is_thought_sent = False
    for index, block in enumerate(turn.blocks):
        is_own = own(block, RESPONSES) is not None
        match block:
            case ReasoningBlock():
                if not continues(block):
                    is_thought_sent = is_own and "encrypted_content" in keys_of(block)
                is_sent = is_thought_sent
            case MediaBlock() if turn.role == "assistant":
                is_sent = form_of(block, RESPONSES) == IMAGE_CALL and bool(block.data)
            case MediaBlock():
                is_sent = turn.role != "system" and write_part(block) is not None
            case TextBlock():
                is_sent = bool(block.text) or (is_own and not refuses)
            case _:
                is_sent = True
        if is_sent:
            kept.append(index)
    return kept_blocks(turn, kept)


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
_OURS = tuple(_ID_STARTS)[:6]
"""Types of items that have a form without an id."""


def _with_valid_ids(
    turn: Turn, written: Sequence[JsonObject]
) -> tuple[list[JsonObject], list[Note]]:
    """Return the items of a turn with the ids that are sent, and notes on those that are not. An
    item that only the provider understands is not sent without its id.
    """
    items: list[JsonObject] = []
    notes: list[Note] = []
    kinds = [plain(item.get("type", "message" if "role" in item else "")) for item in written]
    valid = [_is_valid_id(plain(i.get("id")), k) for i, k in zip(written, kinds, strict=True)]
    is_wrong = any(k in _OURS and not fits for k, fits in zip(kinds, valid, strict=True))
    if is_wrong:
        sentence = "An item id is not in a form that OpenAI accepts; the message is sent without "
        notes.append(Note(Level.INFO, "item-id-left-out", f"{sentence}ids.", turn.origin))
    for item, kind, fits in zip(written, kinds, valid, strict=True):
        if kind in _OURS:
            items += _without_id(item) if is_wrong else [item]
        elif fits:
            items.append(item)
        else:
            what = f"{kind} {plain(item.get('id'))}"
            notes.append(reason_note("opaque", turn.origin, RESPONSES, what))
    return items, notes


def _is_valid_id(identity: object, kind: object) -> bool:
    """Return True if an id is in the form that OpenAI gives to items of a type. None always fits,
    and so does any id of an unknown type.
    """
    start = _ID_STARTS.get(kind) if isinstance(kind, str) else None
    if start is None or identity in (None, ""):
        return True
    return (
        isinstance(identity, str) and bool(_ID.fullmatch(identity)) and identity.startswith(start)
    )


def _without_id(item: JsonObject) -> Iterator[JsonObject]:
    """Yield an item without its id: of a message of the model each part in the short form."""
    parts = [dictionary(part) for part in items_of(item.get("content"))]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    if plain(item.get("role")) != "assistant" or not texts or None in texts:
        yield {key: value for key, value in item.items() if key != "id"}
        return
    phase = {key: item[key] for key in ("phase",) if key in item}
    yield from ({"role": item["role"], "content": text, **phase} for text in texts)
