"""A turn as a message of Chat Completions: written, and read.

1. Content is one string, or parts if the turn has several or was written so.
2. Beside tool calls or a refusal, empty content is null.
3. Reasoning is written to the field that it came in: `reasoning_content` and `reasoning` are plain
   text, OpenRouter's `reasoning_details` are typed and may be signed or encrypted, litellm's
   `thinking_blocks` are Anthropic's, and Mistral's `thinking` is a part of the content.
4. `developer` is a system turn, `function` a tool turn; the word for the role is the turn's form.
5. Google's signatures are `extra_content`; those of Gemini's own protocol go to models of Gemini.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

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
from tui_chat.models.json_text import to_json
from tui_chat.models.media import data_url, split_data_url
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
from tui_chat.protocols.common.trees import NULL, Named, Word, dictionary, labelled, with_keys
from tui_chat.protocols.common.turn_fit import google_signature

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


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of the model and server that a message is sent to."""

    developer: bool = False
    """True if system messages have the role `developer`."""
    google: bool = False
    """True if signatures of Gemini's own protocol are sent."""
    strict: bool = False
    """True if the server refuses undocumented keys."""


ANY_TARGET = Target()


@dataclass(slots=True)
class _Message:
    """A message that is being written."""

    turn: Turn
    to: Target
    content: list[Json] = field(default_factory=list[Json])
    texts: list[Text] = field(default_factory=list[Text])
    """The texts of the content."""
    is_framed: bool = False
    """True if a text has more to it than its words."""
    is_string: bool = False
    """True if the texts are stretches of one string."""
    signature: str = ""
    """Google's, of the last text."""
    fields: JsonObject = field(default_factory=dict[str, Json])
    """The fields beside role and content."""


def write_message(turn: Turn, to: Target = ANY_TARGET) -> JsonObject:
    """Return a turn as a message. Nothing is left out that the protocol has a form for."""
    message = _Message(turn, to)
    for index, block in enumerate(turn.blocks):
        _add(message, index, block)
    fields = message.fields
    if message.signature:
        fields["extra_content"] = _extra_content(message.signature)
    if turn.name:
        fields["name"] = Named(turn.name, "name")
    written: JsonObject = {"role": Word(_role(turn, to)), "content": _content(message)}
    written |= {key: fields[key] for key in sorted(fields, key=_rank)}
    return with_keys(written, turn, CHAT)


_FIELDS = (
    *("extra_content", "", "refusal", *PLAIN_FIELDS),
    *("reasoning_details", "thinking_blocks", "name", OLD_CALL, "tool_calls", "tool_call_id"),
)


def _rank(key: str) -> int:
    """Return the place of a field in a message; what is not known stands where the empty one is."""
    return _FIELDS.index(key if key in _FIELDS else "")


def _role(turn: Turn, to: Target) -> str:
    if form := form_of(turn, CHAT):
        return form
    is_developer = to.developer and turn.role == "system" and not turn.captured_from(CHAT)
    return "developer" if is_developer else turn.role


def _add(message: _Message, index: int, block: Block) -> None:
    fields = message.fields
    match block:
        case TextBlock(is_refusal=True) if block.extras is None:
            fields["refusal"] = Named(block.text, "refusal")
        case TextBlock(is_refusal=False):
            _add_text(message, block, message.turn.text_at(index))
        case ReasoningBlock():
            _add_reasoning(message, block)
        case CallBlock() if form_of(block, CHAT) == OLD_CALL:
            fields[OLD_CALL] = write_call(block)
        case CallBlock():
            call = write_call(block, signs=message.to.google)
            fields.setdefault("tool_calls", []).append(call)
        case ResultBlock():
            if block.name and message.turn.captured_from(CHAT):
                fields["name"] = Named(block.name, "name")
            if block.call_id:
                fields["tool_call_id"] = Named(block.call_id, "tool call id")
        case OpaqueBlock() if form_of(block, CHAT) == FIELD:
            fields[block.name] = labelled(block.value, block.name)
        case _:
            if (part := write_part(block)) is not None:
                message.content.append(part)


def _add_text(message: _Message, block: TextBlock, text: Text) -> None:
    extras, signature = own(block, CHAT), google_signature(block)
    is_own = extras is not None and extras.form == STRETCH
    message.signature = signature if message.to.google or is_own else ""
    if not block.text and (extras is None or is_own):
        return
    message.texts.append(text)
    if extras is not None and extras.form == STRING:
        message.is_framed = True
        message.content.append(text)
    elif extras is None or is_own:
        message.is_string = message.is_string or is_own
        message.content.append({"type": Word("text"), "text": text})
    else:
        message.is_framed = True
        message.content.append(write_part(block, text))


def _content(message: _Message) -> Json:
    """Return the content: null, a string or parts."""
    turn, content, texts = message.turn, message.content, message.texts
    if not content:
        has_more = not message.fields.keys().isdisjoint(("tool_calls", "refusal"))
        return NULL if has_more and turn.role == "assistant" else ""
    if len(content) != len(texts) or message.is_framed:
        return content
    if len(texts) == 1:
        return texts[0]
    return Text.join("", texts) if message.is_string else content


def _extra_content(signature: str) -> JsonObject:
    """Return Google's signature in its place.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    return {"google": {"thought_signature": Named(signature, "thought signature")}}


# --- parts and calls ---------------------------------------------------------------------


def write_part(block: Block, text: Text | None = None) -> JsonObject | None:
    """Return a block as a part of the content; None if there is no form for it. `text`: that of a
    text block with its origins.
    """
    match block:
        case OpaqueBlock():
            value = labelled(block.value, block.name)
            return value if block.protocol is CHAT else None
        case TextBlock(is_refusal=True):
            written = {"type": Word("refusal"), "refusal": Named(block.text, "refusal")}
        case TextBlock():
            written = {"type": Word("text"), "text": text or block.text}
        case MediaBlock():
            written = _write_media(block)
        case ReasoningBlock():
            written = _write_thinking(block)
        case _:
            return None
    return None if written is None else with_keys(written, block, CHAT)


def _write_media(block: MediaBlock) -> JsonObject | None:
    if block.text:
        return {"type": Word("text"), "text": Named(block.text, "document")}
    match block.media:
        case "image" if block.data or block.url:
            url = data_url(block.mime, block.data) if block.data else block.url
            detail = {"detail": Word(block.detail)} if block.detail else {}
            return _typed("image_url", {"url": Named(url, "picture"), **detail})
        case "audio" if block.data and block.mime in _AUDIO:
            sound = {"data": Named(block.data, "sound"), "format": Word(_AUDIO[block.mime])}
            return _typed("input_audio", sound)
        case "file":
            return _write_file(block)
        case _:
            return None


_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def _write_file(block: MediaBlock) -> JsonObject | None:
    written: JsonObject = {"filename": Named(block.name, "file name")} if block.name else {}
    if block.file_id and block.owner in (CHAT, Protocol.OPENAI_RESPONSES):
        written["file_id"] = Named(block.file_id, "file id")
    elif block.data:
        data = data_url(block.mime, block.data) if block.mime else block.data
        written["file_data"] = Named(data, "file")
    elif block.url and block.owner is CHAT:
        written["file_data"] = Named(block.url, "file")
    else:
        return None
    return _typed("file", written)


def _typed(kind: str, inner: JsonObject) -> JsonObject:
    return {"type": Word(kind), kind: inner}


def write_call(block: CallBlock, *, signs: bool = False) -> JsonObject:
    """Return a call. `signs`: Gemini's signature is sent with it."""
    form = form_of(block, CHAT)
    arguments = Named(block.arguments, f"arguments of {block.name}")
    name = {"name": Named(block.name, "tool name")}
    if form == OLD_CALL:
        return with_keys({**name, "arguments": arguments}, block, CHAT)
    written: JsonObject = {"id": Named(block.id, "tool call id")} if block.id else {}
    if form == CUSTOM:
        written |= _typed(CUSTOM, {**name, "input": arguments})
    else:
        written |= _typed("function", {**name, "arguments": arguments})
    if signs and own(block, CHAT) is None and (signature := google_signature(block)):
        written["extra_content"] = _extra_content(signature)
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


def _add_reasoning(message: _Message, block: ReasoningBlock) -> None:
    form, fields = form_of(block, CHAT), message.fields
    if form in (THINKING, THINKING_TEXT):
        if block.text:
            message.content.append(write_part(block))
    elif form in PLAIN_FIELDS:
        before = fields[form].value if form in fields else ""
        fields[form] = Named(before + block.text, "reasoning")
    elif key := _list_of(form):
        fields.setdefault(key, []).append(_write_detail(block))


def _write_detail(block: ReasoningBlock) -> JsonObject:
    """Return a block as an item of a list of reasoning."""
    form = form_of(block, CHAT)
    written: JsonObject = {"type": Named(form, "reasoning")}
    if block.text or form == "thinking":
        written[_TEXT_KEYS.get(form, "text")] = Named(block.text, "reasoning")
    return with_keys(written, block, CHAT)


def _write_thinking(block: ReasoningBlock) -> JsonObject | None:
    words = Named(block.text, "reasoning")
    match form_of(block, CHAT):
        case "part with text":
            return {"type": Word("thinking"), "thinking": words}
        case "part":
            return {
                "type": Word("thinking"),
                "thinking": [{"type": Word("text"), "text": words}],
            }
        case _:
            return None


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
    word, role = role_at(wire, place, _ROLES)
    content_at(wire, "content", place)
    blocks = tuple(_blocks(wire, role))
    form = word if word in ("developer", "function") else ""
    name = string(wire, "name") if role != "tool" else ""
    turn = Turn(role, blocks, turn_origin(role, number), name=name, extras=Extras(CHAT, form))
    return learned_turn(turn, wire, CHAT, write_message(turn), form)


def _blocks(wire: JsonObject, role: MessageRole) -> Iterator[Block]:
    if role == "tool":
        yield ResultBlock(string(wire, "tool_call_id"), string(wire, "name"))
    if role == "assistant":
        yield from _reasoning(wire)
    content = wire.get("content")
    if isinstance(content, str) and content:
        yield TextBlock(content)
    yield from map(_part, items_of(content))
    if role != "assistant":
        return
    if refusal := string(wire, "refusal"):
        yield TextBlock(refusal, is_refusal=True)
    if function := dictionary(wire.get(OLD_CALL)):
        yield _read_call(function, function, "arguments", OLD_CALL)
    for call in items_of(wire.get("tool_calls")):
        form = CUSTOM if isinstance(dictionary(call).get(CUSTOM), dict) else ""
        holder = dictionary(dictionary(call).get(form or "function"))
        yield _read_call(dictionary(call), holder, "input" if form else "arguments", form)


def _read_call(wire: JsonObject, holder: JsonObject, key: str, form: str) -> CallBlock:
    """Return a call. Arguments are text; some clients send the object itself."""
    value = holder.get(key)
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
    if isinstance(wire, str):
        return TextBlock(wire, extras=Extras(CHAT, STRING))
    fields = dictionary(wire)
    if (thinking := _read_thinking(fields)) is not None:
        return thinking
    block = read_part(fields)
    return learned(block, fields, CHAT, write_part) if block is not None else opaque(CHAT, wire)


def _read_thinking(wire: JsonObject) -> ReasoningBlock | None:
    """Return Mistral's reasoning; None for any other part."""
    if string(wire, "type") != "thinking":
        return None
    thinking = wire.get("thinking")
    if isinstance(thinking, str) and thinking:
        return learned(ReasoningBlock(thinking), wire, CHAT, write_part, THINKING_TEXT)
    parts = [dictionary(part) for part in items_of(thinking)]
    text = string(parts[0], "text") if len(parts) == 1 else ""
    return learned(ReasoningBlock(text), wire, CHAT, write_part, THINKING) if text else None


def read_part(wire: JsonObject) -> TextBlock | MediaBlock | None:
    """Return a part of the content without its extras; None if its form is not known."""
    kind, cache = string(wire, "type"), read_cache(wire)
    inner = dictionary(wire.get(kind))
    match kind:
        case "text" if isinstance(wire.get("text"), str):
            return TextBlock(wire["text"], cache=cache)
        case "refusal" if string(wire, "refusal"):
            return TextBlock(wire["refusal"], is_refusal=True, cache=cache)
        case "image_url":
            media = _read_image(inner)
        case "input_audio":
            media = _read_sound(inner)
        case "file":
            media = _read_file(inner)
        case _:
            return None
    return replace(media, cache=cache) if media is not None else None


def _read_image(inner: Mapping[str, Json]) -> MediaBlock | None:
    url, detail = string(inner, "url"), string(inner, "detail")
    if not url:
        return None
    if (split := split_data_url(url)) is not None:
        return MediaBlock("image", split[0], data=split[1], detail=detail)
    return MediaBlock("image", url=url, detail=detail)


_MIME = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def _read_sound(inner: Mapping[str, Json]) -> MediaBlock | None:
    data, mime = string(inner, "data"), _MIME.get(string(inner, "format"))
    return MediaBlock("audio", mime, data=data) if data and mime is not None else None


def _read_file(inner: Mapping[str, Json]) -> MediaBlock | None:
    name, data = string(inner, "filename"), string(inner, "file_data")
    if identity := string(inner, "file_id"):
        return MediaBlock("file", file_id=identity, owner=CHAT, name=name)
    if (split := split_data_url(data)) is not None:
        return MediaBlock("file", split[0], data=split[1], name=name)
    if data.startswith(("http://", "https://")):  # OpenRouter takes links
        return MediaBlock("file", url=data, owner=CHAT, name=name)
    return MediaBlock("file", data=data, name=name) if data else None
