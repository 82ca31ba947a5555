"""The rules by which a turn is made fit to send, as far as several protocols have them.

A function here takes one turn and returns it, the same object if nothing changes; so what it makes
of a turn can be remembered by the turn. It makes no wire form. A turn that was captured from the
protocol itself was accepted as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from tui_chat.models.blocks import (
    Block,
    CallBlock,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    TextBlock,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn, kept_blocks, with_block, with_each_block
from tui_chat.models.json_text import as_object, as_string, decode_json
from tui_chat.models.media import (
    as_text,
    detect_mime_of_base64,
    file_name,
    is_link,
    standard_base64,
)
from tui_chat.models.memo import Memo
from tui_chat.models.reply import MADE_ID
from tui_chat.models.text import Text
from tui_chat.protocols.common.trees import labelled

_CHAT, _GEMINI, _ANTHROPIC = Protocol.OPENAI_CHAT, Protocol.GEMINI, Protocol.ANTHROPIC
_RESPONSES = Protocol.OPENAI_RESPONSES


def portable(turn: Turn, protocol: Protocol) -> Turn:
    """Return a turn as another protocol can take it: without what only its own understands; see
    `with_portable_forms`.
    """
    if turn.captured_from(protocol):
        return turn

    def is_empty(block: Block) -> bool:
        if isinstance(block, OpaqueBlock):
            return block.protocol is not protocol
        is_text = isinstance(block, TextBlock) and not block.text and own(block, protocol) is None
        return is_text and not google_signature(block)

    return without(with_portable_forms(turn, protocol), is_empty)


def with_portable_forms(turn: Turn, protocol: Protocol) -> Turn:
    """Return a turn whose texts that were pieces of one are that, with pictures and files in a form
    that all protocols accept.
    """

    def changed(block: Block) -> Block:
        return portable_media(block, protocol) if isinstance(block, MediaBlock) else block

    return with_each_block(_without_stream_borders(turn, protocol), changed)


def without(turn: Turn, leaves_out: Callable[[Block], bool]) -> Turn:
    """Return a turn without some of its blocks."""
    return kept_blocks(turn, [i for i, block in enumerate(turn.blocks) if not leaves_out(block)])


def _without_stream_borders(turn: Turn, protocol: Protocol) -> Turn:
    """Return a turn whose adjacent texts are one, if Gemini's model said them: their borders show
    where a piece of the stream ended.
    """
    if protocol is _GEMINI or turn.role != "assistant":
        return turn
    index = 1
    while index < len(turn.blocks):
        before, block = turn.blocks[index - 1 : index + 1]
        if _is_piece(before) and _is_piece(block):
            assert isinstance(block, TextBlock)
            text = turn.text_at(index - 1) + turn.text_at(index)
            signed = block if google_signature(block) else before
            joined = replace(block, text=text.plain, extras=signed.extras)
            rest = kept_blocks(turn, [i for i in range(len(turn.blocks)) if i != index])
            turn = with_block(rest, index - 1, joined, text)
        else:
            index += 1
    return turn


def _is_piece(block: Block) -> bool:
    is_gemini = block.extras is not None and block.extras.protocol is _GEMINI
    return is_gemini and isinstance(block, TextBlock) and not block.is_refusal


def portable_media(block: MediaBlock, protocol: Protocol) -> MediaBlock:
    """Return a picture or file without invalid base64 and links. A missing type is detected, and a
    file has the name that OpenAI requires.
    """
    if block.data and (data := standard_base64(block.data)) != block.data:
        block = replace(block, data=data)
    if block.data and not block.mime:
        block = replace(block, mime=detect_mime_of_base64(block.data))
    if block.url and not is_link(block.url) and block.owner is not protocol:
        block = replace(block, url="")
    elif block.owner is _GEMINI is not protocol and (block.url or block.file_id):
        block = replace(block, url="", file_id="")
    if block.media != "file":
        return block
    # Bytes need a name [I: openai-agents-python#1513, laravel/ai#324], and Responses refuses one
    # beside a link [I: langchainjs#9887].
    if block.data and not block.name and protocol in (_CHAT, _RESPONSES):
        return replace(block, name=file_name(block, 1))
    return replace(block, name="") if block.url and protocol is _RESPONSES else block


def google_signature(block: Block) -> str:
    """Return the signature that Gemini put on a block; its own protocol and Google's endpoint of
    OpenAI Chat both have it. Empty for none.
    """
    extras = block.extras
    if extras is None:
        return ""
    if extras.protocol is _GEMINI:
        signature = extras.keys.get("thoughtSignature")
    else:
        google = as_object(as_object(extras.keys.get("extra_content")).get("google"))
        signature = google.get("thought_signature")
    return as_string(signature)


def arguments_object(arguments: str) -> JsonObject | None:
    """Return a call's arguments as the object that some protocols demand; None if they are none."""
    try:
        value: Any = decode_json(arguments) if arguments.strip() else {}
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def written_arguments(call: CallBlock) -> JsonObject:
    """Return the arguments of a call as an object, in which those that are none are a text."""
    arguments = arguments_object(call.arguments)
    if arguments is None:
        arguments = {"arguments": call.arguments}
    return labelled(arguments, f"arguments of {call.name}")


def text_document(block: Block) -> Block:
    """Return a document of text that is given as bytes as text; any other block as it is."""
    if not isinstance(block, MediaBlock) or not block.data:
        return block
    text = as_text(block).text
    return replace(block, data="", text=text) if text else block


def id_to_send(turn: Turn, identity: str) -> str:
    """Return the id of a call for a protocol that needs none: empty if we made it up."""
    return "" if turn.extras is None and MADE_ID.fullmatch(identity) else identity


def is_blank(block: Block) -> bool:
    """Return True for text of white space alone."""
    return isinstance(block, TextBlock) and not block.text.strip()


def text_borders(turn: Turn) -> list[int]:
    """Return the indices of text blocks that begin a new block of text, and do not go on in the
    text before: Anthropic's model cites in the middle of a sentence.
    """
    borders: list[int] = []
    last: TextBlock | None = None
    is_apart = False
    for index, block in enumerate(turn.blocks):
        if not isinstance(block, TextBlock) or block.is_refusal:
            is_apart = True
            continue
        if not block.text:
            continue
        extras = [each.extras for each in (last, block) if each is not None and each.extras]
        is_cited = any(mine.keys.get("citations") for mine in extras)
        if last is not None and not (turn.role == "assistant" and not is_apart and is_cited):
            borders.append(index)
        last, is_apart = block, False
    return borders


def merged_text(turn: Turn) -> Text:
    """Return the text of a turn for a place of one string: a line break stands between blocks."""
    borders, merged = set(text_borders(turn)), Text()
    for index, block in enumerate(turn.blocks):
        if isinstance(block, TextBlock) and not block.is_refusal:
            text = turn.text_at(index)
            merged = with_break(merged, text) if index in borders else joined(merged, text)
    return merged


def joined(before: Text, after: Text) -> Text:
    """Return two texts as one."""
    return before + after if len(before) else after


def with_break(before: Text, after: Text) -> Text:
    """Return two blocks of text as one, with a line break between them if there is none yet."""
    is_broken = before.plain.endswith("\n") or after.plain.startswith("\n")
    return before + after if is_broken else Text.join("\n", (before, after))


_variants: Memo[Turn, dict[object, Turn]] = Memo(lambda _: {})


def variant(turn: Turn, key: object, make: Callable[[Turn], Turn]) -> Turn:
    """Return a changed turn, the same object for the same change, for memos of what follows."""
    variants = _variants(turn)
    changed = variants.get(key)
    if changed is None:
        changed = variants[key] = make(turn)
    return changed
