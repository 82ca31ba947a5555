"""A turn as a message of Chat Completions: written, read, and fitted.

1. Content is one string, or parts if the turn has several or was written so.
2. Beside tool calls or a refusal, empty content is null.
3. Reasoning is written to the field that it came in: `reasoning_content` and `reasoning` are plain
   text, OpenRouter's `reasoning_details` are typed and may be signed or encrypted, litellm's
   `thinking_blocks` are Anthropic's, and Mistral's `thinking` is a part of the content.
4. `developer` is a system turn, `function` a tool turn; the word for the role is the turn's form.
5. Google's signatures are `extra_content`; those of Gemini's own protocol go to models of Gemini.

What is sent depends on the turn alone, so it is made once. What was captured from this protocol was
accepted as it was, and is written so; of any other turn:

1. A picture or file of the model or of a system message is left out. OpenAI's tool results hold
   none: they follow in a user message.
2. Reasoning that came through Chat is sent back in the same field; if that is plain text, only
   beside tool calls: there DeepSeek requires it, and elsewhere its older models refuse it.
3. Of a spoken reply the transcript is sent.

Keys that OpenAI does not document (vendors' own, reasoning, cache marks in a router's form) are
passed on, since many servers of this protocol have more; those of a captured request with a
warning. For a server that is known to refuse them they are left out, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
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
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.media import data_url
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.payload import Obj
from tui_chat.models.text import Text
from tui_chat.protocols.common import reading
from tui_chat.protocols.common.losses import loss_notes
from tui_chat.protocols.common.openai import media_at
from tui_chat.protocols.common.reading import items_of, learned, string
from tui_chat.protocols.common.trees import (
    NULL,
    Named,
    Word,
    dictionary,
    labelled,
    object_of,
    optional,
    plain,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import google_signature, portable, without

CHAT = Protocol.OPENAI_CHAT
PLAIN_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
THINKING_BLOCKS = ("thinking", "redacted_thinking")
"""The types, and forms, of litellm's blocks of Anthropic."""
THINKING = "part"
"""The form of Mistral's reasoning, which is a part of the content."""
THINKING_TEXT = "part with text"
"""That of the same part with a string, as gateways pass on Anthropic's blocks."""
_TEXT_KEYS = {"reasoning.summary": "summary", "thinking": "thinking"}
"""The keys of the text of reasoning in a list, by its type; `text` for any other."""
STRETCH = "content"
"""The form of a text that is a stretch of the one string `content`."""
STRING = "string"
"""The form of a text that is a bare string among parts."""
FIELD = "field"
"""The form of an opaque block that is a key of the message."""
CUSTOM, OLD_CALL = "custom", "function_call"
"""The forms of a call with free text, and of the only call before there were several."""
_FIELDS = (
    *("extra_content", "", "refusal", *PLAIN_FIELDS),
    *("reasoning_details", "thinking_blocks", "name", OLD_CALL, "tool_calls", "tool_call_id"),
)
"""The order of the fields of a message; what is not known stands where the empty one is."""


class Target(NamedTuple):
    """What is known of the model and server that a message is sent to."""

    developer: bool = False
    """True if system messages have the role `developer`."""
    google: bool = False
    """True if signatures of Gemini's own protocol are sent."""
    strict: bool = False
    """True if the server refuses undocumented keys."""


ANY_TARGET = Target()


def write_message(turn: Turn, to: Target = ANY_TARGET) -> JsonObject:
    """Return a turn as a message. Nothing is left out that the protocol has a form for."""
    is_own, fields, signature = turn.captured_from(CHAT), dict[str, Json](), ""
    content: list[Json] = []
    texts: list[Text] = []
    is_string = is_framed = False  # a stretch of one string; with more to it than its words
    for index, block in enumerate(turn.blocks):
        form = form_of(block, CHAT)
        match block:
            case TextBlock(is_refusal=True, extras=None):
                fields["refusal"] = Named(block.text, "refusal")
            case TextBlock(is_refusal=False):
                signed, text = google_signature(block), turn.text_at(index)
                signature = signed if to.google or form == STRETCH else ""
                if own(block, CHAT) is not None and form != STRETCH:
                    content.append(text if form == STRING else write_part(block, text))
                    is_framed = True
                elif block.text:
                    content.append({"type": Word("text"), "text": text})
                    is_string = is_string or form == STRETCH
                else:
                    continue
                texts.append(text)
            case ReasoningBlock() if form in PLAIN_FIELDS:
                before = fields[form].value if form in fields else ""
                fields[form] = Named(before + block.text, "reasoning")
            case ReasoningBlock() if key := _list_of(form):
                fields.setdefault(key, []).append(_write_detail(block))
            case ReasoningBlock() if not block.text:
                pass
            case CallBlock() if form == OLD_CALL:
                fields[OLD_CALL] = write_call(block)
            case CallBlock():
                fields.setdefault("tool_calls", []).append(write_call(block, signs=to.google))
            case ResultBlock():
                fields |= optional("name", block.name, "name") if is_own else {}
                fields |= optional("tool_call_id", block.call_id, "tool call id")
            case OpaqueBlock() if form == FIELD:
                fields[block.name] = labelled(block.value, block.name)
            case _ if (part := write_part(block)) is not None:
                content.append(part)
            case _:
                pass
    fields |= _extra_content(signature) | optional("name", turn.name, "name")
    said: Json = content
    if not content:
        has_more = not fields.keys().isdisjoint(("tool_calls", "refusal"))
        said = NULL if has_more and turn.role == "assistant" else ""
    elif len(content) == len(texts) and not is_framed and (is_string or len(texts) == 1):
        said = Text.join("", texts)
    is_developer = to.developer and turn.role == "system" and not is_own
    role = form_of(turn, CHAT) or ("developer" if is_developer else turn.role)
    ordered = sorted(fields, key=lambda key: _FIELDS.index(key if key in _FIELDS else ""))
    written = {"role": Word(role), "content": said, **{key: fields[key] for key in ordered}}
    return with_keys(written, turn, CHAT)


def _extra_content(signature: str) -> JsonObject:
    """Return Google's signature in its place, if there is one.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    signed = optional("thought_signature", signature, "thought signature")
    return {"extra_content": {"google": signed}} if signed else {}


# --- parts and calls ---------------------------------------------------------------------


def write_part(block: Block, text: Text | None = None) -> JsonObject | None:
    """Return a block as a part of the content; None if there is no form for it. `text`: that of a
    text block with its origins.
    """
    written: JsonObject | None = None
    match block:
        case OpaqueBlock():
            return labelled(block.value, block.name) if block.protocol is CHAT else None
        case TextBlock(is_refusal=True):
            written = _typed("refusal", Named(block.text, "refusal"))
        case TextBlock():
            written = _typed("text", text or block.text)
        case MediaBlock():
            written = _write_media(block)
        case ReasoningBlock() if form_of(block, CHAT) == THINKING_TEXT:
            written = _typed("thinking", Named(block.text, "reasoning"))
        case ReasoningBlock() if form_of(block, CHAT) == THINKING:
            written = _typed("thinking", [_typed("text", Named(block.text, "reasoning"))])
        case _:
            pass
    return None if written is None else with_keys(written, block, CHAT)


def _typed(kind: str, inner: Json) -> JsonObject:
    return {"type": Word(kind), kind: inner}


_AUDIO = {
    **dict.fromkeys(("audio/wav", "audio/x-wav", "audio/wave"), "wav"),
    **dict.fromkeys(("audio/mpeg", "audio/mp3"), "mp3"),
}


def _write_media(block: MediaBlock) -> JsonObject | None:
    data = data_url(block.mime, block.data) if block.mime and block.data else block.data
    if block.text:
        return _typed("text", Named(block.text, "document"))
    if block.media == "image" and (block.data or block.url):
        url = data_url(block.mime, block.data) if block.data else block.url
        detail = {"detail": Word(block.detail)} if block.detail else {}
        return _typed("image_url", {"url": Named(url, "picture"), **detail})
    if block.media == "audio" and block.data and block.mime in _AUDIO:
        sound = {"data": Named(block.data, "sound"), "format": Word(_AUDIO[block.mime])}
        return _typed("input_audio", sound)
    if block.media != "file":
        return None
    link = block.url if block.owner is CHAT else ""
    if block.file_id and block.owner in (CHAT, Protocol.OPENAI_RESPONSES):
        file = optional("file_id", block.file_id, "file id")
    elif not (file := optional("file_data", data or link, "file")):
        return None
    return _typed("file", optional("filename", block.name, "file name") | file)


def write_call(block: CallBlock, *, signs: bool = False) -> JsonObject:
    """Return a call. `signs`: Gemini's signature is sent with it."""
    form = form_of(block, CHAT)
    arguments = Named(block.arguments, f"arguments of {block.name}")
    function = {"name": Named(block.name, "tool name")}
    function["input" if form == CUSTOM else "arguments"] = arguments
    if form == OLD_CALL:
        return with_keys(function, block, CHAT)
    written = optional("id", block.id, "tool call id")
    written |= _typed(CUSTOM if form == CUSTOM else "function", function)
    if signs and own(block, CHAT) is None:
        written |= _extra_content(google_signature(block))
    return with_keys(written, block, CHAT)


# --- reasoning ---------------------------------------------------------------------------


def can_be_sent_back(block: ReasoningBlock) -> bool:
    """Return True if a block has a field in which it can be sent."""
    form = form_of(block, CHAT)
    return form in (*PLAIN_FIELDS, THINKING, THINKING_TEXT) or bool(_list_of(form))


def _list_of(form: str) -> str:
    """Return the field with the list that reasoning of a form is in; empty for none."""
    if form in THINKING_BLOCKS:
        return "thinking_blocks"
    return "reasoning_details" if form.startswith("reasoning.") else ""


def _write_detail(block: ReasoningBlock) -> JsonObject:
    """Return a block as an item of a list of reasoning."""
    form = form_of(block, CHAT)
    written: JsonObject = {"type": Named(form, "reasoning")}
    if block.text or form == "thinking":
        written[_TEXT_KEYS.get(form, "text")] = Named(block.text, "reasoning")
    return with_keys(written, block, CHAT)


# --- reading -----------------------------------------------------------------------------

_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_message(wire: JsonObject, number: int = 1) -> Turn:
    """Return a message as a turn. Raises InputError for an unknown role."""
    place = f"messages[{number - 1}]"
    word, role = reading.role_at(wire, place, _ROLES)
    reading.content_at(wire, "content", place)
    form = word if word in ("developer", "function") else ""
    name = string(wire, "name") if role != "tool" else ""
    origin, extras = reading.turn_origin(role, number), Extras(CHAT, form)
    turn = Turn(role, tuple(_blocks(wire, role)), origin, name=name, extras=extras)
    return reading.learned_turn(turn, wire, CHAT, write_message(turn), form)


def _blocks(wire: JsonObject, role: MessageRole) -> Iterator[Block]:
    content = wire.get("content")
    if role == "tool":
        yield ResultBlock(string(wire, "tool_call_id"), string(wire, "name"))
    if role == "assistant":
        yield from _reasoning(wire)
    if isinstance(content, str) and content:
        yield TextBlock(content)
    yield from map(_part, items_of(content))
    if role != "assistant":
        return
    if refusal := string(wire, "refusal"):
        yield TextBlock(refusal, is_refusal=True)
    if function := dictionary(wire.get(OLD_CALL)):
        yield _read_call(function, function, OLD_CALL)
    for call in map(dictionary, items_of(wire.get("tool_calls"))):
        form = CUSTOM if isinstance(call.get(CUSTOM), dict) else ""
        yield _read_call(call, dictionary(call.get(form or "function")), form)


def _read_call(wire: JsonObject, holder: JsonObject, form: str) -> CallBlock:
    """Return a call. Arguments are text; some clients send the object itself."""
    value = holder.get("input" if form == CUSTOM else "arguments")
    arguments = value if isinstance(value, str) else "" if value is None else to_json(value)
    call = CallBlock(string(wire, "id"), string(holder, "name"), arguments)
    return learned(call, wire, CHAT, write_call, form)


def _reasoning(wire: JsonObject) -> Iterator[ReasoningBlock]:
    for key in PLAIN_FIELDS:
        if text := string(wire, key):
            yield ReasoningBlock(text, Extras(CHAT, key))
    for key in ("reasoning_details", "thinking_blocks"):
        items = [(string(dictionary(i), "type"), dictionary(i)) for i in items_of(wire.get(key))]
        if all(_list_of(form) == key for form, _ in items):
            for form, item in items:
                block = ReasoningBlock(string(item, _TEXT_KEYS.get(form, "text")))
                yield learned(block, item, CHAT, _write_detail, form)


def _part(wire: Json) -> Block:
    fields = dictionary(wire)
    if isinstance(wire, str):
        return TextBlock(wire, extras=Extras(CHAT, STRING))
    if string(fields, "type") == "thinking":
        parts = list(map(dictionary, items_of(fields.get("thinking"))))
        text = string(parts[0], "text") if len(parts) == 1 else ""
        form = THINKING if parts else THINKING_TEXT
        if said := text or string(fields, "thinking"):
            return learned(ReasoningBlock(said), fields, CHAT, write_part, form)
    block = read_part(fields)
    return reading.opaque(CHAT, wire) if block is None else learned(block, fields, CHAT, write_part)


def read_part(wire: JsonObject) -> TextBlock | MediaBlock | None:
    """Return a part of the content without its extras; None if its form is not known."""
    kind = string(wire, "type")
    inner, block = dictionary(wire.get(kind)), None
    data, sound = string(inner, "data"), {"wav": "audio/wav", "mp3": "audio/mpeg"}
    match kind:
        case "text" if isinstance(wire.get("text"), str):
            block = TextBlock(wire["text"])
        case "refusal" if refusal := string(wire, "refusal"):
            block = TextBlock(refusal, is_refusal=True)
        case "image_url" if url := string(inner, "url"):
            block = replace(media_at("image", url), detail=string(inner, "detail"))
        case "input_audio" if data and (mime := sound.get(string(inner, "format"))):
            block = MediaBlock("audio", mime, data=data)
        case "file":
            block = _read_file(inner)
        case _:
            pass
    return block and replace(block, cache=reading.read_cache(wire))


def _read_file(inner: JsonObject) -> MediaBlock | None:
    name, data = string(inner, "filename"), string(inner, "file_data")
    if identity := string(inner, "file_id"):
        return MediaBlock("file", file_id=identity, owner=CHAT, name=name)
    block = replace(media_at("file", data), name=name)
    if block.url.startswith(("http://", "https://")):  # OpenRouter takes links
        return replace(block, owner=CHAT)
    return replace(block, data=block.data or data, url="") if data else None


# --- fitting -----------------------------------------------------------------------------

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""The names of speakers that OpenAI accepts."""


@dataclass(frozen=True, slots=True, eq=False)
class SentMessage:
    """A turn in the form of this protocol."""

    tree: Obj
    follows: Obj | None = None
    """A user message with what a tool result could not hold, for after all results."""
    notes: tuple[Note, ...] = ()
    undocumented: tuple[str, ...] = ()
    """The undocumented keys of it, which a strict server is not sent."""


@Memo
def sent_message(turn: Turn, to: Target) -> SentMessage:
    """Return a turn as it is sent."""
    sent = (turn,) if turn.captured_from(CHAT) else _fitted(turn)
    written = [write_message(each, to) for each in sent]
    notes = (*_order_notes(sent), *_loss_notes(turn, sent, written))
    names: dict[str, None] = {}
    kept = documented(written[0], names)
    first, *others = [object_of(each, turn.origin) for each in written]
    tree = object_of(kept, turn.origin) if to.strict else first
    return SentMessage(tree, others[0] if others else None, notes, tuple(names))


def _fitted(turn: Turn) -> tuple[Turn, ...]:
    """Return a turn that is accepted, and the user's that follows a tool result."""

    def is_refused(block: Block) -> bool:
        if isinstance(block, ReasoningBlock):
            is_plain = form_of(block, CHAT) in PLAIN_FIELDS
            return not can_be_sent_back(block) or (is_plain and not turn.tool_calls)
        return isinstance(block, MediaBlock) and turn.role != "user"

    whole = portable(turn, CHAT)
    fit = _with_reasoning_content(without(whole, is_refused))
    if fit.name and not _NAME.fullmatch(fit.name):
        fit = replace(fit, name="")
    media = [b for b in whole.blocks if isinstance(b, MediaBlock) and write_part(b) is not None]
    if turn.role != "tool" or not media:
        return (fit,)
    return fit, Turn("user", tuple(media), turn.origin)


def _with_reasoning_content(turn: Turn) -> Turn:
    """Return a turn whose Anthropic blocks beside calls are plain text too: servers require it."""
    blocks = [block for block in turn.blocks if isinstance(block, ReasoningBlock)]
    forms = {form_of(block, CHAT) for block in blocks}
    if not turn.tool_calls or "reasoning_content" in forms or forms.isdisjoint(THINKING_BLOCKS):
        return turn
    text = "".join(block.text for block in blocks)
    said = ReasoningBlock(text, Extras(CHAT, "reasoning_content"))
    return replace(turn, blocks=(*turn.blocks, said))  # last, so that no other place changes


# --- notes -------------------------------------------------------------------------------


def _order_notes(sent: Sequence[Turn]) -> Iterator[Note]:
    has_call = False
    for block in sent[0].blocks:
        has_call = has_call or isinstance(block, CallBlock)
        if has_call and isinstance(block, TextBlock) and not block.is_refusal:
            sentence = "The text after the tool calls is sent before them."
            yield Note(Level.WARNING, "order-changed", sentence, sent[0].origin)
    for follow in sent[1:]:
        sentence = "Images and files of a tool result are sent in a user message after it."
        yield Note(Level.WARNING, "part-moved", sentence, follow.origin)


def _loss_notes(turn: Turn, sent: Sequence[Turn], written: Sequence[JsonObject]) -> Iterator[Note]:
    """Yield the notes on what is lost between a turn and its message."""
    is_own = turn.captured_from(CHAT)

    def hear() -> Sequence[Turn]:
        return sent if is_own else [read_message(plain(each)) for each in written]

    blocks = (block for block in turn.blocks if isinstance(block, ReasoningBlock))
    has_field = all(map(can_be_sent_back, blocks))
    thought = "reasoning without calls" if has_field else "reasoning unsigned"
    reasons = {"name": "name refused", "reasoning": thought}
    yield from loss_notes(turn, CHAT, hear, sends_marks=is_own, reasons=reasons)


# --- keys that OpenAI does not document --------------------------------------------------

_DOCUMENTED = frozenset(
    {"role", "refusal", "audio", "annotations", "tool_calls", "function_call", "name", "content"}
    | {"id", "tool_call_id", "text", "type", "image_url", "input_audio", "file", "function"}
    | {"custom", "prompt_cache_breakpoint"}
)
"""Keys of a message, a part, a call or a tool."""
_INNER = {
    "function": frozenset({"name", "arguments", "description", "parameters", "strict"}),
    "function_call": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input", "description", "format"}),
    "image_url": frozenset({"url", "detail"}),
    "input_audio": frozenset({"data", "format"}),
    "file": frozenset({"file_id", "file_data", "filename"}),
}
"""Keys that objects among these may have."""


def documented(written: Mapping[str, Json], names: dict[str, None]) -> JsonObject:
    """Return a message, a part, a call or a tool without undocumented keys, which are added to
    `names`: `function.key` one level down.
    """
    kept: JsonObject = {}
    for key, value in written.items():
        inner = dictionary(value)
        if key not in _DOCUMENTED:
            names[key] = None
        elif inner and key in _INNER:
            names |= {f"{key}.{name}": None for name in inner if name not in _INNER[key]}
            kept[key] = {name: v for name, v in inner.items() if name in _INNER[key]}
        elif key in ("content", "tool_calls") and (items := items_of(value)):
            kept[key] = list[Json]()
            for item in items:
                fields, kind = dictionary(item), string(dictionary(item), "type")
                # A part of a type that is not known stays whole.
                is_known = bool(fields) and (kind in _DOCUMENTED or "type" not in fields)
                if kind == "thinking":
                    names[kind] = None
                else:
                    kept[key].append(documented(fields, names) if is_known else item)
        else:
            kept[key] = value
    return kept
