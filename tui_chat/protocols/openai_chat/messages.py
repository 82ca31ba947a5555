"""A turn as a message of Chat Completions.

1. Content is one string, or parts if the turn has several or was written so.
2. Beside tool calls or a refusal, empty content is null.
3. Reasoning is written to the field that it came in: `reasoning_content` and `reasoning` are plain
   text, OpenRouter's `reasoning_details` are typed and may be signed or encrypted, litellm's
   `thinking_blocks` are Anthropic's, and Mistral's `thinking` is a part of the content.
4. Google's signatures are `extra_content`; those of Gemini's own protocol go to models of Gemini.
"""

from __future__ import annotations

from dataclasses import field

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import (
    Block,
    CallBlock,
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
from tui_chat.models.media import data_url
from tui_chat.models.text import Text
from tui_chat.protocols.common.trees import NULL, Named, Word, labelled, with_keys
from tui_chat.protocols.common.turn_fit import google_signature

CHAT = Protocol.OPENAI_CHAT
PLAIN_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
THINKING_BLOCKS = "thinking_blocks"
THINKING = "thinking"
"""Mistral's reasoning, which is a part of the content."""
THINKING_TEXT = "thinking text"
"""The same part with a string, as gateways pass on Anthropic's blocks."""
DETAIL_TEXT = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The key of the text of OpenRouter's details, by their types; `text` for any other."""
STRETCH = "content"
"""The form of a text that is a stretch of the one string `content`."""
STRING = "string"
"""The form of a text that is a bare string among parts."""
FIELD = "field"
"""The form of an opaque block that is a key of the message."""
CUSTOM, OLD_CALL = "custom", "function_call"
"""The forms of a call with free text, and of the only call before there were several."""
SOUND = "audio"
"""The form of a spoken reply that OpenAI keeps under an id for a while."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of the model and server that a message is sent to."""

    developer: bool = False
    """True if system messages have the role `developer`."""
    google: bool = False
    """True if signatures of Gemini's own protocol are sent."""
    speaks: bool = False
    """True if spoken replies go as ids."""
    strict: bool = False
    """True if the server refuses undocumented keys."""
    marks: bool = False
    """True if cache marks are sent."""


ANY_TARGET = Target()


@dataclass(slots=True)
class _Message:
    """A message that is being written."""

    turn: BlockTurn
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


def write_message(turn: BlockTurn, to: Target = ANY_TARGET) -> JsonObject:
    """Return a turn as a message. Nothing is left out that the protocol has a form for."""
    message = _Message(turn, to)
    for index, block in enumerate(turn.blocks):
        _add(message, index, block)
    fields = message.fields
    if message.signature:
        fields["extra_content"] = _extra_content(message.signature)
    if turn.name:
        fields["name"] = Named(turn.name, "name")
    written: JsonObject = {"role": Word(_role(turn, to))}
    if SOUND not in fields:
        written["content"] = _content(message)
    written |= {key: fields[key] for key in sorted(fields, key=_rank)}
    return with_keys(written, turn, CHAT)


_FIELDS = (SOUND, "extra_content", "", "refusal", *PLAIN_FIELDS, "reasoning_opaque")
_FIELDS += ("reasoning_details", THINKING_BLOCKS, "name", OLD_CALL, "tool_calls", "tool_call_id")


def _rank(key: str) -> int:
    """Return the place of a field in a message; what is not known stands where the empty one is."""
    return _FIELDS.index(key if key in _FIELDS else "")


def _role(turn: BlockTurn, to: Target) -> str:
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
            _add_text(message, block, message.turn.text(index))
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
        case MediaBlock() if form_of(block, CHAT) == SOUND and message.turn.role == "assistant":
            fields[SOUND] = {"id": labelled(_keys(block).get("id"), "id of the sound")}
        case _:
            if (part := write_part(block)) is not None:
                message.content.append(part)


def _keys(block: Block) -> JsonObject:
    return dict(block.extras.keys) if block.extras is not None else {}


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
    fields = (*PLAIN_FIELDS, THINKING_BLOCKS, THINKING, THINKING_TEXT)
    return form in fields or form.startswith("reasoning.")


def _add_reasoning(message: _Message, block: ReasoningBlock) -> None:
    form, fields = form_of(block, CHAT), message.fields
    if form in (THINKING, THINKING_TEXT):
        if block.text:
            message.content.append(write_part(block))
    elif form in PLAIN_FIELDS:
        before = fields[form].value if form in fields else ""
        fields[form] = Named(before + block.text, "reasoning")
        if opaque := _keys(block).get("reasoning_opaque"):
            fields["reasoning_opaque"] = Named(opaque, "reasoning")
    elif form == THINKING_BLOCKS:
        fields.setdefault(THINKING_BLOCKS, []).append(write_thinking_block(block))
    elif form.startswith("reasoning."):
        fields.setdefault("reasoning_details", []).append(write_detail(block))


def write_detail(block: ReasoningBlock) -> JsonObject:
    """Return a block as one of OpenRouter's details."""
    form = form_of(block, CHAT)
    written: JsonObject = {"type": Named(form, "reasoning")}
    if block.text:
        written[DETAIL_TEXT.get(form, "text")] = Named(block.text, "reasoning")
    return with_keys(written, block, CHAT)


def write_thinking_block(block: ReasoningBlock) -> JsonObject:
    """Return a block of Anthropic's as litellm passes it on."""
    if "data" in _keys(block):
        return with_keys({"type": Word("redacted_thinking")}, block, CHAT)
    written = {"type": Word("thinking"), "thinking": Named(block.text, "reasoning")}
    return with_keys(written, block, CHAT)


def _write_thinking(block: ReasoningBlock) -> JsonObject | None:
    words = Named(block.text, "reasoning")
    match form_of(block, CHAT):
        case "thinking text":
            return {"type": Word("thinking"), "thinking": words}
        case "thinking":
            return {
                "type": Word("thinking"),
                "thinking": [{"type": Word("text"), "text": words}],
            }
        case _:
            return None
