"""What a protocol cannot say of a turn, found by comparison: what the turn says, and what is heard
in the message that is sent of it.

1. A turn says facts: its texts, its reasoning, its calls, pictures, names. They are compared as
   multisets with those of the turns that the protocol's own reader makes of what was written.
2. A text may also be heard within a longer one, since some protocols have one text for all. So may
   a refusal, a document, and the protocol's own reasoning.
3. Keys that only another protocol understands are lost without being looked for; they are named.
4. A loss is data. `REASONS` has its level, its code and its sentence. Where the fitting of a turn
   knows why something is lost, it names the reason; else it is that of the kind of loss.
5. A turn of bare texts, calls and results loses nothing, since every protocol has a form for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

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
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.media import standard_base64
from tui_chat.models.text import Origin
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.turn_fit import (
    arguments_object,
    google_signature,
    portable_media,
)


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a turn says and what is sent of it does not."""

    kind: str
    """The kind of fact: see `_facts`."""
    value: Any
    """What is lost, for the sentence: a text, a name, keys, a `MediaBlock`."""
    block: int = -1
    """The index of its block; -1 for the message itself."""
    source: Protocol | None = None
    """The protocol that it came from, if only that one understands it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a loss, in words."""

    code: str
    """The code of the note."""
    sentence: str
    """With `{label}` for the protocol, `{source}` for the one it came from, `{value}` for what is
    lost."""
    level: Level = Level.WARNING


REASONS: dict[str, Reason] = {
    "reasoning": Reason(
        "reasoning-left-out", "The reasoning came from {source} and is sent back only there."
    ),
    "reasoning unsigned": Reason(
        "reasoning-left-out",
        "The reasoning is neither signed nor encrypted, so it is not sent back.",
    ),
    "reasoning without calls": Reason(
        "reasoning-left-out", "Plain-text reasoning is sent back only with tool calls.", Level.INFO
    ),
    "name": Reason("name-left-out", "{label} has no field for the name “{value}”; it is left out."),
    "name refused": Reason(
        "name-left-out",
        "OpenAI Chat accepts names of up to 64 characters without spaces and without < > | / and "
        "\\, so not “{value}”; it is left out.",
    ),
    "document name": Reason(
        "name-left-out",
        "{label} has no field for the name “{value}” of a text file; only its text is sent.",
    ),
    "file name": Reason(
        "name-left-out", "{label} has no field for the name “{value}” of a file; it is left out."
    ),
    "citations": Reason(
        "citations-left-out",
        "The citations in this reply are for the reader; its text is sent without them.",
        Level.INFO,
    ),
    "keys": Reason("extras-left-out", "Keys of {source} that are not carried over: {value}."),
    "opaque": Reason(
        "piece-left-out", "{label} does not accept this here, so it is left out: {value}."
    ),
    "media": Reason(
        "piece-left-out", "{label} does not accept this here, so it is left out: {value}."
    ),
    "media elsewhere": Reason(
        "piece-left-out", "Left out: {value}; {source} keeps it, where {label} cannot read it."
    ),
    "media absent": Reason("piece-left-out", "Left out: {value}; its content is not stored here."),
    "cache mark": Reason(
        "cache-mark-left-out",
        "Cache marks are sent to Anthropic only; this one is left out.",
        Level.INFO,
    ),
    "failure": Reason(
        "failure-left-out",
        "The protocol cannot mark a tool result as failed; only its text is sent.",
    ),
    "text": Reason(
        "blank-text-left-out",
        "Text of white space alone is refused, so it is left out.",
        Level.INFO,
    ),
    "refusal": Reason(
        "blank-text-left-out",
        "Text of white space alone is refused, so it is left out.",
        Level.INFO,
    ),
    "message": Reason(
        "blank-left-out",
        "A message that is empty or white space alone is refused, so it is left out.",
    ),
    "arguments": Reason(
        "arguments-wrapped",
        "The arguments of “{value}” are not a JSON object; they are sent as a text in one.",
    ),
}
"""By the name of the reason, which for most is the kind of the loss."""


# --- what is said ------------------------------------------------------------------------

_Fact = tuple[str, Any, int, Protocol | None]
"""The fields of a `Loss`."""
_CITATIONS = ("annotations", "citations")
"""Keys that list the citations of a text, in OpenAI's protocols and Anthropic's."""


def is_bare(turn: Turn) -> bool:
    """Return True for a turn of texts, calls and results alone, of which nothing can be lost."""
    if turn.extras is not None or turn.name or turn.cache_mark is not None:
        return False
    for block in turn.blocks:
        match block:
            case TextBlock(is_refusal=False, extras=None, cache="") if block.text:
                pass
            case CallBlock(extras=None, cache="") | ResultBlock(extras=None, cache=""):
                if isinstance(block, ResultBlock) and block.failed:
                    return False
            case _:
                return False
    return True


def _facts(turn: Turn) -> Iterator[_Fact]:
    if turn.name:
        yield "name", turn.name, -1, None
    for index, block in enumerate(turn.blocks):
        yield from _block_facts(index, block)


def _block_facts(index: int, block: Block) -> Iterator[_Fact]:
    match block:
        case TextBlock() if block.text:
            yield "refusal" if block.is_refusal else "text", block.text, index, None
        case ReasoningBlock() if block.text or (block.extras and block.extras.keys):
            yield "reasoning", block.text, index, _thinker(block)
        case CallBlock():
            yield "call", block.name, index, None
        case ResultBlock() if block.failed:
            yield "failure", True, index, None
        case MediaBlock():
            content = standard_base64(block.data) or block.url or block.file_id or block.text
            yield "media", content, index, None
            if block.name and block.media == "file":  # of a picture nobody misses it
                yield "document name" if block.text else "file name", block.name, index, None
        case _:
            pass


def _thinker(block: ReasoningBlock) -> Protocol | None:
    """Return the protocol that reasoning came from: litellm's list in Chat has Anthropic's."""
    if block.extras is None:
        return None
    is_listed = block.extras.form in ("thinking", "redacted_thinking")
    return Protocol.ANTHROPIC if is_listed else block.extras.protocol


# --- the comparison ----------------------------------------------------------------------


def turn_losses(
    turn: Turn, heard: Sequence[Turn], protocol: Protocol, *, sends_marks: bool = False
) -> Iterator[Loss]:
    """Yield what a turn loses, in order. `heard` are the turns that the protocol's reader makes of
    what is sent of it. `sends_marks`: cache marks are sent.
    """
    if is_bare(turn):
        return
    left = Counter((kind, value, of) for other in heard for kind, value, _, of in _facts(other))
    words, thoughts = "\0".join(_words(heard)), "\0".join(_thoughts(heard))
    lost_media: set[int] = set()
    for kind, value, index, source in _facts(turn):
        if left[kind, value, source]:
            left[kind, value, source] -= 1
        elif kind == "reasoning" and source is protocol and value and value in thoughts:
            pass
        elif not _is_within(kind, value, words) and index not in lost_media:
            if kind == "media":
                lost_media.add(index)
            yield Loss(kind, value, index, source)
    yield from _foreign_losses(turn, protocol, sends_marks=sends_marks)


def _is_within(kind: str, value: Any, words: str) -> bool:
    """Return True if a text is heard within a longer one."""
    return kind in ("text", "refusal", "media") and bool(value) and value in words


def _words(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, TextBlock):
                yield block.text
            elif isinstance(block, MediaBlock):
                yield block.url  # with the bytes in it, if their type is not known


def _thoughts(turns: Sequence[Turn]) -> Iterator[str]:
    blocks = (block for turn in turns for block in turn.blocks)
    return (block.text for block in blocks if isinstance(block, ReasoningBlock))


def _foreign_losses(turn: Turn, protocol: Protocol, *, sends_marks: bool) -> Iterator[Loss]:
    """Yield the citations, and what only another protocol understands."""
    yield from _key_losses(turn.extras, protocol)
    for index, block in enumerate(turn.blocks):
        if isinstance(block, OpaqueBlock):
            if block.protocol is not protocol:
                yield Loss("opaque", block.name or "a block", index, block.protocol)
            continue
        if not isinstance(block, ReasoningBlock):  # its keys go with it
            yield from _key_losses(block.extras, protocol, block, index)
            if block.cache and not sends_marks:
                yield Loss("cache mark", block.cache, index)


def _key_losses(
    extras: Extras | None, protocol: Protocol, block: Block | None = None, index: int = -1
) -> Iterator[Loss]:
    """Yield what only another protocol understands of a block, or of a message if it is None."""
    if extras is None or extras.protocol is protocol:
        return
    keys = {
        change.path[0]: change.value[0]
        for change in extras.changes
        if change.value and _sets_nothing(change.before[0])  # what we did not understand
    }
    keys |= dict(_flat(extras.keys))
    cited = [key for key in _CITATIONS if isinstance(keys.get(key), list)]
    if any(keys[key] for key in cited):
        yield Loss("citations", None, index)
    named = [
        key
        for key, value in keys.items()
        if key not in cited
        and not _sets_nothing(value)
        and not _is_said(key, value, block, extras.protocol)
    ]
    if named:
        yield Loss("keys", ", ".join(named), index, extras.protocol)


def _is_said(key: str, value: Json, block: Block | None, source: Protocol) -> bool:
    """Return True for a key that says nothing of its own, or that a field of its block says too."""
    match key:
        case "status" | "type" | "index" | "role":
            return True
        case "cache_control":
            return bool(getattr(block, "cache", ""))
        case "id" | "phase" if block is not None and isinstance(value, str):
            return source is Protocol.OPENAI_RESPONSES or isinstance(block, MediaBlock)
        case "thoughtSignature":
            return isinstance(value, str)
        case "extra_content" if block is not None:
            return value == {"google": {"thought_signature": google_signature(block)}}
        case _:
            return False


def _flat(keys: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the keys of a thing. A pair of an item and its part has those of both."""
    for key, value in keys.items():
        if key in ("item", "part", "content") and isinstance(value, dict):
            yield from cast("JsonObject", value).items()
        else:
            yield key, value


def _sets_nothing(value: Json) -> bool:
    if isinstance(value, dict) and value:
        return all(inner == "" for inner in cast("JsonObject", value).values())
    return value in (None, "", [])


# --- notes -------------------------------------------------------------------------------


def loss_notes(
    turn: Turn,
    losses: Sequence[Loss],
    protocol: Protocol,
    reasons: Mapping[str, str] | None = None,
) -> Iterator[Note]:
    """Yield the notes on the losses of a turn. `reasons`: names of reasons by kind of loss, where
    the fitting of the turn knows more than the kind.
    """
    said: set[str] = set()
    for loss in sorted(losses, key=lambda loss: _ORDER.get(loss.kind, 9)):
        if loss.kind == "reasoning":
            is_own = loss.source in (None, protocol)
            name = (reasons or {}).get("reasoning", "reasoning unsigned")
            sources = _reasoning_sources(losses, protocol)
            note = _note(turn, name if is_own else "reasoning", protocol, source=sources)
        elif loss.kind == "media":
            note = _media_note(turn, loss, protocol)
        else:
            name = (reasons or {}).get(loss.kind, loss.kind)
            if name not in REASONS:
                continue
            source = loss.source.label if loss.source is not None else ""
            note = _note(turn, name, protocol, loss.value, source)
        once = loss.kind in ("reasoning", "citations", "text", "refusal")
        if not (once and note.sentence in said):
            yield note
        said.add(note.sentence)


_ORDER = {"media": 0, "reasoning": 1, "name": 2, "document name": 3, "file name": 3, "failure": 10}
"""The order of the notes of a turn."""


def _reasoning_sources(losses: Sequence[Loss], protocol: Protocol) -> str:
    """Return the other protocols that lost reasoning came from; empty for none."""
    sources = [loss.source for loss in losses if loss.kind == "reasoning"]
    labels = dict.fromkeys(s.label for s in sources if s is not None and s is not protocol)
    return " and ".join(labels)


def _media_note(turn: Turn, loss: Loss, protocol: Protocol) -> Note:
    block = turn.blocks[loss.block]
    assert isinstance(block, MediaBlock)
    block = portable_media(block, protocol)
    what = f"{block.media} {block.mime}".strip() + (f" “{block.name}”" if block.name else "")
    reason, owner = "media", ""
    if not (block.text or block.data or block.url):
        is_kept = bool(block.file_id) and block.owner not in (None, protocol)
        reason = "media elsewhere" if is_kept else "media absent"
        owner = block.owner.label if block.owner is not None else ""
    note = _note(turn, reason, protocol, what, owner)
    return Note(note.level, note.code, note.sentence, note.origin, unsent=block)


def _note(turn: Turn, reason: str, protocol: Protocol, value: Any = "", source: str = "") -> Note:
    return reason_note(reason, turn.origin, protocol, value, source)


def argument_notes(turn: Turn, protocol: Protocol) -> Iterator[Note]:
    """Yield the notes on arguments that have to be an object and are none."""
    for call in turn.tool_calls:
        if arguments_object(call.arguments) is None:
            yield reason_note("arguments", turn.origin, protocol, call.name)


def reason_note(
    reason: str, origin: Origin | None, protocol: Protocol, value: Any = "", source: str = ""
) -> Note:
    """Return the note for a reason by its name."""
    why = REASONS[reason]
    sentence = why.sentence.format(label=protocol.label, value=value, source=source)
    return Note(why.level, why.code, sentence, origin)
