"""A turn as it is sent: fit for the protocol, written as a message, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
)
from tui_chat.models.envelope import Level, NativeTool, Note, RequestTool, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.payload import Obj
from tui_chat.models.text import Origin
from tui_chat.protocols.common.losses import loss_notes
from tui_chat.protocols.common.reading import items_of, string
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.trees import captured_origin, dictionary, object_of, plain
from tui_chat.protocols.common.turn_fit import portable, without
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    PLAIN_FIELDS,
    THINKING_BLOCKS,
    Target,
    can_be_sent_back,
    read_message,
    write_message,
    write_part,
)

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


# --- fitting -----------------------------------------------------------------------------


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
_SETTINGS = frozenset(
    (
        *("audio", "function_call", "functions", "logit_bias", "logprobs", "max_tokens"),
        *("max_completion_tokens", "metadata", "modalities", "moderation", "n", "prediction"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "seed", "stop"),
        *("reasoning_effort", "response_format", "safety_identifier", "service_tier", "store"),
        *("stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs"),
        *("top_p", "frequency_penalty", "presence_penalty", "parallel_tool_calls", "user"),
        *("verbosity", "web_search_options", "messages", "model"),
    )
)
"""Keys of a request."""
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


def note_keys(request: RequestEncoder, names: Iterable[str], origin: Origin | None = None) -> None:
    """Add the note on undocumented keys, if there are any. `origin`: that of their turn."""
    said = ", ".join(dict.fromkeys(names))
    if not said:
        return
    sentence = f"Sent unchanged, although OpenAI itself refuses them: {said}."
    if request.facts.strict_keys:
        sentence = f"Left out, since this server refuses unknown keys: {said}."
    origin = origin or captured_origin("unknown keys")
    request.notes.append(Note(Level.WARNING, "unknown-keys", sentence, origin))


def undocumented_rest(request: RequestEncoder) -> dict[str, None]:
    """Return the undocumented keys of a captured request and its tools, which are taken from it if
    its server refuses them.
    """
    envelope, facts, rest = request.envelope, request.facts, request.envelope.rest
    if rest is None or not request.captured or facts.strict_keys is False:
        return {}
    names = dict.fromkeys(key for key in rest.keys if key not in _SETTINGS)
    kept = {key: value for key, value in rest.keys.items() if key not in names}

    def documented_tool(tool: RequestTool) -> RequestTool:
        if tool.extras is None or isinstance(tool, NativeTool):
            return tool
        return replace(tool, extras=replace(tool.extras, keys=documented(tool.extras.keys, names)))

    tools = envelope.tools and tuple(map(documented_tool, envelope.tools))
    if facts.strict_keys:
        request.envelope = replace(envelope, tools=tools, rest=replace(rest, keys=kept))
    return names
