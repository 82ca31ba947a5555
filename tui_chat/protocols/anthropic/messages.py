"""Turns as messages of the Messages API: written, read, and made fit to send.

1. A message of the user holds the results of calls beside other blocks. Each result is a turn, and
   so is what stands between them: the turns after the first have the form `joined`. A block of the
   top-level `system` is a turn of the form `system`.
2. Content is one string if its only block is a bare text, else a list of blocks.
3. A tool's input is an object; arguments that are none are wrapped in one.

What was captured from this protocol was accepted as it was, and is sent so. Of any other turn:
4. Blank text is refused: it is left out, and so is a turn that has nothing else.
5. Thinking is sent back only if it is signed or encrypted, also if a gateway of OpenAI Chat passed
   it on.
6. Pictures are sent in four types, files as PDF or as text; none of the model or of a system turn.
7. A refusal is sent back as text of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    Cache,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    MediaKind,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note, Turn, kept_blocks, with_block, with_each_block
from tui_chat.models.json_text import to_json
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.payload import Obj, Tree
from tui_chat.models.text import Text
from tui_chat.protocols.common import losses, reading
from tui_chat.protocols.common.reading import items_of, learned, string, turn_origin
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    field_origin,
    labelled,
    object_of,
    optional,
    plain,
    tree,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import (
    is_blank,
    portable,
    text_document,
    without,
    written_arguments,
)

ANTHROPIC = Protocol.ANTHROPIC
JOINED, SYSTEM = "joined", "system"
_REDACTED = "redacted_thinking"
"""The form of reasoning that is encrypted."""


# --- writing -----------------------------------------------------------------------------


def _write_block(block: Block, text: Text | None = None) -> Json:
    """Return a block as it is sent; None if there is no form for it. `text`: that of a text block
    with its origins.
    """
    match block:
        case OpaqueBlock():
            return labelled(block.value, block.name) if block.protocol is ANTHROPIC else None
        case TextBlock():
            said = Named(block.text, "refusal") if block.is_refusal else text or block.text
            written: JsonObject = {"type": Word("text"), "text": said}
        case ReasoningBlock() if form_of(block, ANTHROPIC) == _REDACTED:
            written = {"type": Word(_REDACTED)}
        case ReasoningBlock() if own(block, ANTHROPIC) is not None:
            written = {"type": Word("thinking"), "thinking": Named(block.text, "thinking")}
        case CallBlock():
            written = {
                "type": Word("tool_use"),
                "id": Named(block.id, "tool call id"),
                "name": Named(block.name, "tool name"),
                "input": written_arguments(block),
            }
        case MediaBlock(media="image") if source := _write_source(block):
            written = {"type": Word("image"), "source": source}
        case MediaBlock(media="file") if source := _write_source(block):
            written = {"type": Word("document"), "source": source}
            written |= optional("title", block.name, "title")
        case _:
            return None
    return with_keys(written | _write_cache(block), block, ANTHROPIC)


def _write_source(block: MediaBlock) -> JsonObject:
    """Return the content of a picture or file; empty if there is no form for it."""
    if block.file_id:
        identity = {"type": Word("file"), "file_id": Named(block.file_id, "file id")}
        return identity if block.owner is ANTHROPIC else {}
    if block.data:
        mime = {"media_type": Word(block.mime)} if block.mime else {}
        return {"type": Word("base64"), **mime, "data": Named(block.data, block.media)}
    if block.text:
        data = Named(block.text, "document")
        return {"type": Word("text"), "media_type": Word("text/plain"), "data": data}
    return {"type": Word("url"), "url": Named(block.url, "link")} if block.url else {}


def _write_cache(block: Block) -> JsonObject:
    cache: Cache = getattr(block, "cache", "")
    return {"cache_control": labelled(_mark(cache), "cache mark")} if cache else {}


def _mark(cache: Cache) -> JsonObject:
    """Return a cache mark; without a lifetime it has the provider's own."""
    lifetime = {"5m": "5m", "1h": "1h", "12h": "1h"}.get(cache)
    return {"type": "ephemeral"} | ({"ttl": lifetime} if lifetime else {})


def write_content(turn: Turn) -> tuple[list[Json], Json]:
    """Return the blocks of a turn, and its content as a message by itself: these, or one text."""
    blocks: list[Json] = []
    bare: Text | None = None
    for index, block in enumerate(turn.blocks):
        text = None
        if isinstance(block, TextBlock) and not block.is_refusal:
            text = turn.text_at(index)
            is_bare = own(block, ANTHROPIC) is None and not block.cache
            bare = text if is_bare else None
        if (written := _write_block(block, text)) is not None:
            blocks.append(written)
    content: Json = blocks if bare is None or len(blocks) > 1 else bare
    if (head := turn.result) is not None:
        result: JsonObject = {
            "type": Word("tool_result"),
            "tool_use_id": Named(head.call_id, "tool call id"),
            **({"content": content} if blocks else {}),
            **({} if head.failed is None else {"is_error": head.failed}),
        }
        blocks = content = [with_keys(result | _write_cache(head), head, ANTHROPIC)]
    if turn.cache_mark is not None:
        mark = _mark("1h" if turn.cache_mark.lifetime == "1h" else "default")
        origin = field_origin(turn.cache_mark.origin, "cache mark")
        content = blocks
        for index in range(len(blocks) - 1, -1, -1):  # the last one that takes a mark has it
            fields = dictionary(blocks[index])
            if fields and "thinking" not in str(plain(fields.get("type"))):
                fields.setdefault("cache_control", labelled(mark, origin=origin))
                break
    return blocks, content


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
    for number, block in enumerate(_read_content(value), 1):
        origin = turn_origin("system", number)
        yield Turn("system", (block,), origin, extras=Extras(ANTHROPIC, SYSTEM))


def read_message(wire: JsonObject, place: int = 0, number: int = 1) -> list[Turn]:
    """Return the turns of a message. Raises InputError for an unknown role."""
    _, role = reading.role_at(wire, f"messages[{place}]", _ROLES)
    groups: list[tuple[MessageRole, list[Block]]] = []
    content = reading.content_at(wire, "content", f"messages[{place}]")
    for item in items_of(content) or ([content] if content else []):
        fields = dictionary(item)
        is_result = fields.get("type") == "tool_result" and isinstance(
            fields.get("tool_use_id"), str
        )
        if role == "user" and is_result:
            groups.append(("tool", list(_read_result(fields))))
            continue
        if not groups or groups[-1][0] == "tool":
            groups.append((role, []))
        groups[-1][1].append(TextBlock(item) if item is content else _read_block(item, role))
    if not groups:
        groups.append((role, []))
    turns = [
        Turn(of, tuple(blocks), turn_origin(of, number + n), extras=Extras(ANTHROPIC, JOINED))
        for n, (of, blocks) in enumerate(groups)
    ]
    turns[0] = replace(turns[0], extras=Extras(ANTHROPIC))
    return [reading.learned_turn(turns[0], wire, ANTHROPIC, write_message(turns)), *turns[1:]]


def _read_content(content: Json) -> list[Block]:
    if isinstance(content, str) and content:
        return [TextBlock(content)]
    return list(map(_read_block, items_of(content)))


def _read_result(wire: JsonObject) -> list[Block]:
    blocks = _read_content(wire.get("content"))

    def write(head: ResultBlock) -> Json:
        return write_content(Turn("tool", (head, *blocks), turn_origin("tool", 1)))[0][0]

    failed, cache = boolean(wire.get("is_error")), reading.read_cache(wire)
    head = ResultBlock(string(wire, "tool_use_id"), failed=failed, cache=cache)
    return [learned(head, wire, ANTHROPIC, write), *blocks]


def _read_block(wire: Json, role: MessageRole = "user") -> Block:
    fields = dictionary(wire)
    cache = reading.read_cache(fields)
    match string(fields, "type"):
        case "text" if isinstance(fields.get("text"), str):
            block = TextBlock(fields["text"], cache=cache)
        case "thinking" if isinstance(fields.get("thinking"), str):
            block = ReasoningBlock(fields["thinking"])
        case "redacted_thinking" if string(fields, "data"):
            return learned(ReasoningBlock(""), fields, ANTHROPIC, _write_block, _REDACTED)
        case "tool_use" if role == "assistant" and isinstance(fields.get("input"), dict):
            arguments = to_json(fields["input"])
            block = CallBlock(string(fields, "id"), string(fields, "name"), arguments, cache)
        case "image" | "document" as kind if source := _read_source(fields):
            media: MediaKind = "image" if kind == "image" else "file"
            name = string(fields, "title") if kind == "document" else ""
            block = MediaBlock(media, name=name, cache=cache, **source)
        case _:
            return reading.opaque(ANTHROPIC, wire)
    return learned(block, fields, ANTHROPIC, _write_block)


def _read_source(wire: JsonObject) -> JsonObject:
    """Return the fields of a picture or file that its content says; empty if it is not known."""
    source = dictionary(wire.get("source"))
    mime = string(source, "media_type")
    match string(source, "type"):
        case "base64" if data := string(source, "data"):
            return {"mime": mime, "data": data}
        case "url" if url := string(source, "url"):
            return {"url": url}
        case "file" if identity := string(source, "file_id"):
            return {"file_id": identity, "owner": ANTHROPIC}
        case "text" if (text := string(source, "data")) and mime == "text/plain":
            return {"mime": mime, "text": text}
        case _:
            return {}


# --- sending -----------------------------------------------------------------------------

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True, eq=False)
class SentTurn:
    """A turn in the form of this protocol."""

    blocks: tuple[Tree, ...]
    message: Obj | None
    """The turn as a message by itself; None if nothing of it is sent."""
    notes: tuple[Note, ...] = ()


@Memo
def sent_turn(turn: Turn) -> SentTurn:
    """Return a turn as it is sent, and what it loses."""
    said, fit = _fitted(turn)
    blocks, content = write_content(fit)
    trees = tuple(tree(block, turn.origin) for block in blocks)
    message = None
    if blocks or turn.captured_from(ANTHROPIC):
        content = trees if content is blocks else content
        message = object_of(framed(fit, content), turn.origin)
    return SentTurn(trees, message, tuple(_notes(turn, said, fit)))


def trimmed_message(turn: Turn) -> Obj | None:
    """Return the message of a turn without the white space that it ends in, which Anthropic refuses
    in the last message of the model; None if it ends in none, or has nothing else.
    """
    _, fit = _fitted(turn)
    end = len(fit.blocks)
    while end and is_blank(fit.blocks[end - 1]):
        end -= 1
    if not end:
        return None
    trimmed = kept_blocks(fit, range(end))
    last = trimmed.blocks[-1]
    if isinstance(last, TextBlock) and (words := last.text.rstrip()) != last.text:
        text = trimmed.text_at(end - 1)[: len(words)]
        trimmed = with_block(trimmed, end - 1, replace(last, text=words), text)
    return None if trimmed is fit else object_of(write_message((trimmed,)), turn.origin)


def _fitted(turn: Turn) -> tuple[Turn, Turn]:
    """Return a turn with its blocks in the protocol's own forms (documents of text as text, since
    of bytes only PDF is accepted, and thinking that a gateway passed on as Anthropic's), and of
    these the ones that are accepted.
    """
    if turn.captured_from(ANTHROPIC):
        return turn, turn
    said = with_each_block(turn, lambda block: _own_thinking(text_document(block)))
    fit = portable(said, ANTHROPIC)
    return said, without(fit, lambda block: not _is_accepted(turn, block))


def _own_thinking(block: Block) -> Block:
    extras = block.extras
    if not isinstance(block, ReasoningBlock) or extras is None:
        return block
    is_detail = extras.form.startswith("reasoning.")
    is_listed = extras.form in ("thinking", _REDACTED)
    is_claude = is_listed or (is_detail and string(extras.keys, "format").startswith("anthropic-"))
    if extras.protocol is not Protocol.OPENAI_CHAT or not is_claude:
        return block
    if data := string(extras.keys, "data"):
        return ReasoningBlock("", Extras(ANTHROPIC, _REDACTED, {"data": data}))
    keys = {"signature": string(extras.keys, "signature")}
    return ReasoningBlock(block.text, Extras(ANTHROPIC, "", keys))


def _is_accepted(turn: Turn, block: Block) -> bool:
    match block:
        case ResultBlock():
            return True
        case MediaBlock() if turn.role in ("assistant", "system"):
            return False
        case MediaBlock() if block.data and not block.file_id:
            accepted = _IMAGES if block.media == "image" else ("application/pdf",)
            return block.mime in accepted
        case ReasoningBlock():
            extras = own(block, ANTHROPIC)
            return extras is not None and any(map(extras.keys.get, ("signature", "data")))
        case _:
            return not is_blank(block) and _write_block(block) is not None


def _notes(turn: Turn, said: Turn, fit: Turn) -> Iterator[Note]:
    """Yield the notes on what is lost between a turn and what is sent of it."""
    if turn.captured_from(ANTHROPIC):
        return
    yield from losses.argument_notes(turn, ANTHROPIC)

    def hear() -> list[Turn]:
        return read_message(plain(write_message((fit,))))

    unsaid = ("text", "refusal")
    yield from losses.loss_notes(said, ANTHROPIC, hear, sends_marks=True, unsaid=unsaid)
    if fit.blocks and any(is_blank(b) and isinstance(b, TextBlock) and b.text for b in turn.blocks):
        yield losses.reason_note("text", turn.origin, ANTHROPIC)
