"""Turns as messages of the Messages API: written, and read.

1. A message of the user holds the results of calls beside other blocks. Each result is a turn, and
   so is what stands between them: the turns after the first have the form `joined`. A block of the
   top-level `system` is a turn of the form `system`.
2. Content is one string if its only block is a bare text, else a list of blocks.
3. A tool's input is an object; arguments that are none are wrapped in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.models.blocks import (
    Block,
    Cache,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Text
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import (
    content_at,
    items_of,
    learned,
    learned_turn,
    opaque,
    read_cache,
    role_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    field_origin,
    labelled,
    plain,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import written_arguments

ANTHROPIC = Protocol.ANTHROPIC
JOINED, SYSTEM = "joined", "system"
REDACTED = "redacted_thinking"
"""The form of reasoning that is encrypted."""


# --- blocks ------------------------------------------------------------------------------


def write_block(block: Block, text: Text | None = None) -> Json:
    """Return a block as it is sent; None if there is no form for it. `text`: that of a text block
    with its origins.
    """
    written: JsonObject
    match block:
        case OpaqueBlock():
            return labelled(block.value, block.name) if block.protocol is ANTHROPIC else None
        case TextBlock():
            said = Named(block.text, "refusal") if block.is_refusal else text or block.text
            written = {"type": Word("text"), "text": said}
        case ReasoningBlock() if form_of(block, ANTHROPIC) == REDACTED:
            written = {"type": Word(REDACTED)}
        case ReasoningBlock() if own(block, ANTHROPIC) is not None:
            written = {"type": Word("thinking"), "thinking": Named(block.text, "thinking")}
        case CallBlock():
            written = {
                "type": Word("tool_use"),
                "id": Named(block.id, "tool call id"),
                "name": Named(block.name, "tool name"),
                "input": written_arguments(block),
            }
        case MediaBlock() if (source := _source(block)) is not None:
            is_image = block.media == "image"
            written = {"type": Word("image" if is_image else "document"), "source": source}
            if block.name and not is_image:
                written["title"] = Named(block.name, "title")
        case _:
            return None
    return with_keys(written | _write_cache(block), block, ANTHROPIC)


def _source(block: MediaBlock) -> JsonObject | None:
    if block.media not in ("image", "file"):
        return None
    if block.file_id:
        identity = {"type": Word("file"), "file_id": Named(block.file_id, "file id")}
        return identity if block.owner is ANTHROPIC else None
    if block.data:
        mime = {"media_type": Word(block.mime)} if block.mime else {}
        return {"type": Word("base64"), **mime, "data": Named(block.data, block.media)}
    if block.text:
        data = Named(block.text, "document")
        return {"type": Word("text"), "media_type": Word("text/plain"), "data": data}
    return {"type": Word("url"), "url": Named(block.url, "link")} if block.url else None


_LIFETIMES: dict[Cache, str] = {"5m": "5m", "1h": "1h", "12h": "1h"}
"""The lifetimes that are written of cache marks; the others have the provider's own."""


def _write_cache(block: Block) -> JsonObject:
    cache: Cache = getattr(block, "cache", "")
    return {"cache_control": labelled(_mark(cache), "cache mark")} if cache else {}


def _mark(cache: Cache) -> JsonObject:
    return {"type": "ephemeral"} | ({"ttl": _LIFETIMES[cache]} if cache in _LIFETIMES else {})


# --- messages ----------------------------------------------------------------------------


def write_content(turn: Turn) -> tuple[list[Json], Json]:
    """Return the blocks of a turn, and its content as a message by itself: these, or one text."""
    if turn.role == "tool":
        blocks, text = [_write_result(turn)], None
    else:
        blocks, text = _write_blocks(turn, 0)
    if turn.cache_mark is not None:
        blocks, text = _marked(turn, blocks), None
    return blocks, blocks if text is None else text


def _write_blocks(turn: Turn, start: int) -> tuple[list[Json], Text | None]:
    """Return the blocks from an index on, and the text if they are one that is bare."""
    blocks: list[Json] = []
    bare: Text | None = None
    for index in range(start, len(turn.blocks)):
        block, text = turn.blocks[index], None
        if isinstance(block, TextBlock) and not block.is_refusal:
            text = turn.text_at(index)
            is_bare = own(block, ANTHROPIC) is None and not block.cache
            bare = text if is_bare else None
        if (written := write_block(block, text)) is not None:
            blocks.append(written)
    return blocks, bare if len(blocks) == 1 else None


def _write_result(turn: Turn) -> JsonObject:
    head = turn.blocks[0]
    assert isinstance(head, ResultBlock)
    written: JsonObject = {
        "type": Word("tool_result"),
        "tool_use_id": Named(head.call_id, "tool call id"),
    }
    blocks, text = _write_blocks(turn, 1)
    if blocks:
        written["content"] = blocks if text is None else text
    if head.failed is not None:
        written["is_error"] = head.failed
    return with_keys(written | _write_cache(head), head, ANTHROPIC)


def _marked(turn: Turn, blocks: Sequence[Json]) -> list[Json]:
    """Return blocks with the mark of a turn on the last one that takes one."""
    assert turn.cache_mark is not None
    marked = list(blocks)
    for index in range(len(blocks) - 1, -1, -1):
        block = dictionary(blocks[index])
        if not block or "thinking" in str(plain(block.get("type"))):
            continue
        mark = _mark("1h" if turn.cache_mark.lifetime == "1h" else "default")
        origin = field_origin(turn.cache_mark.origin, "cache mark")
        marked[index] = {**block}
        marked[index].setdefault("cache_control", labelled(mark, origin=origin))
        break
    return marked


def write_message(turns: Sequence[Turn]) -> JsonObject:
    """Return the turns that share a message as that message. Of several, what has no origin of its
    own has none yet.
    """
    first, *others = turns
    blocks, content = write_content(first)
    if others:
        content = blocks + [block for turn in others for block in write_content(turn)[0]]
    return framed(first, content)


def framed(turn: Turn, content: Json) -> JsonObject:
    """Return the message with a content; `turn` is the first one in it."""
    role = "user" if turn.role == "tool" else turn.role
    return with_keys({"role": Word(role), "content": content}, turn, ANTHROPIC)


# --- reading -----------------------------------------------------------------------------

_ROLES: dict[str, MessageRole] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_system(value: Json) -> Iterator[Turn]:
    """Yield the turns of the top-level `system`: one for a string, one for each block."""
    blocks = [TextBlock(value)] if isinstance(value, str) and value else []
    for number, block in enumerate([*blocks, *map(_read, items_of(value))], 1):
        origin = turn_origin("system", number)
        yield Turn("system", (block,), origin, extras=Extras(ANTHROPIC, SYSTEM))


def read_message(wire: JsonObject, place: int = 0, number: int = 1) -> list[Turn]:
    """Return the turns of a message. Raises InputError for an unknown role."""
    _, role = role_at(wire, f"messages[{place}]", _ROLES)
    groups: list[tuple[MessageRole, list[Block]]] = []
    content = content_at(wire, "content", f"messages[{place}]")
    if isinstance(content, str) and content:
        groups.append((role, [TextBlock(content)]))
    for item in items_of(content):
        if role == "user" and _is_result(dictionary(item)):
            groups.append(("tool", list(_read_result(item))))
            continue
        if not groups or groups[-1][0] == "tool":
            groups.append((role, []))
        groups[-1][1].append(_read(item, role))
    if not groups:
        groups.append((role, []))
    turns = [
        Turn(of, tuple(blocks), turn_origin(of, number + n), extras=Extras(ANTHROPIC, JOINED))
        for n, (of, blocks) in enumerate(groups)
    ]
    turns[0] = replace(turns[0], extras=Extras(ANTHROPIC))
    return [learned_turn(turns[0], wire, ANTHROPIC, write_message(turns)), *turns[1:]]


def _is_result(wire: JsonObject) -> bool:
    return wire.get("type") == "tool_result" and isinstance(wire.get("tool_use_id"), str)


def _read_result(wire: JsonObject) -> Iterator[Block]:
    content = wire.get("content")
    inner = [TextBlock(content)] if isinstance(content, str) and content else []
    blocks = (*inner, *map(_read, items_of(content)))

    def write(head: ResultBlock) -> Json:
        return _write_result(Turn("tool", (head, *blocks), turn_origin("tool", 1)))

    failed, cache = boolean(wire.get("is_error")), read_cache(wire)
    head = ResultBlock(string(wire, "tool_use_id"), failed=failed, cache=cache)
    yield learned(head, wire, ANTHROPIC, write)
    yield from blocks


def _read(wire: Json, role: MessageRole = "user") -> Block:
    fields = dictionary(wire)
    cache = read_cache(fields)
    match string(fields, "type"):
        case "text" if isinstance(fields.get("text"), str):
            block = TextBlock(fields["text"], cache=cache)
        case "thinking" if isinstance(fields.get("thinking"), str):
            block = ReasoningBlock(fields["thinking"])
        case "redacted_thinking" if string(fields, "data"):
            return learned(ReasoningBlock(""), fields, ANTHROPIC, write_block, REDACTED)
        case "tool_use" if role == "assistant" and isinstance(fields.get("input"), dict):
            arguments = to_json(fields["input"])
            block = CallBlock(string(fields, "id"), string(fields, "name"), arguments, cache)
        case "image" | "document" if (media := _read_media(fields)) is not None:
            block = replace(media, cache=cache)
        case _:
            return opaque(ANTHROPIC, wire)
    return learned(block, fields, ANTHROPIC, write_block)


def _read_media(wire: JsonObject) -> MediaBlock | None:
    source = dictionary(wire.get("source"))
    is_image = string(wire, "type") == "image"
    name = "" if is_image else string(wire, "title")
    block = MediaBlock("image" if is_image else "file", name=name)
    match string(source, "type"):
        case "base64" if data := string(source, "data"):
            return replace(block, mime=string(source, "media_type"), data=data)
        case "url" if url := string(source, "url"):
            return replace(block, url=url)
        case "file" if identity := string(source, "file_id"):
            return replace(block, file_id=identity, owner=ANTHROPIC)
        case "text" if (text := string(source, "data")) and _is_plain(source):
            return replace(block, mime="text/plain", text=text)
        case _:
            return None


def _is_plain(source: JsonObject) -> bool:
    return string(source, "media_type") == "text/plain"
