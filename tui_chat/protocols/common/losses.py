"""What a protocol cannot say of a turn, found by comparison: what the turn says, and what is heard
in the message that is sent of it.

1. A turn says facts: its texts, its reasoning, its calls, pictures, names. They are compared as
   multisets with those of the turns that the protocol's own reader makes of what was written.
2. A text may also be heard within a longer one, since some protocols have one text for all. So may
   a refusal, a document, and the protocol's own reasoning.
3. Keys that only another protocol understands are lost without being looked for; they are named.
4. `REASONS` has code and sentence of each kind of loss. Where the fitting of a turn knows why
   something is lost, it names another reason than the kind.
5. A turn of bare texts, calls and results loses nothing, since every protocol has a form for them.

Of a request's settings and tools
1. A loss that changes the model's input or options is a warning; any other (a cache mark, a
   billing tag, a value that says what happens anyway) is information.
2. A note names a setting as its request does, so that it can be found there.
3. A setting is lost if the protocol's own table does not read it from what was written. Where the
   fitting of a request knows why, it has said so; else the protocol has no such setting.
4. What only the protocol of a captured request knows is lost for another one, by key.
5. What is in `SILENT` vanishes without a note, for the reason given there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
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
    keys_of,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    EARLIER_TURNS,
    ChatEnvelope,
    Level,
    NativeTool,
    Note,
    Parameters,
    RequestTool,
    Turn,
)
from tui_chat.models.media import standard_base64
from tui_chat.models.settings import CONTEXT_SETTINGS
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.protocols.common.trees import captured_origin
from tui_chat.protocols.common.turn_fit import (
    arguments_object,
    google_signature,
    portable_media,
)

REASONS = {
    "reasoning": "reasoning-left-out: The reasoning came from {source} and is sent back only "
    "there.",
    "reasoning unsigned": "reasoning-left-out: The reasoning is neither signed nor encrypted, so "
    "it is not sent back.",
    "reasoning without calls": "reasoning-left-out: Plain-text reasoning is sent back only with "
    "tool calls.",
    "name": "name-left-out: {label} has no field for the name “{value}”; it is left out.",
    "name refused": "name-left-out: OpenAI Chat accepts names of up to 64 characters without "
    "spaces and without < > | / and \\, so not “{value}”; it is left out.",
    "document name": "name-left-out: {label} has no field for the name “{value}” of a text file; "
    "only its text is sent.",
    "file name": "name-left-out: {label} has no field for the name “{value}” of a file; it is "
    "left out.",
    "citations": "citations-left-out: The citations in this reply are for the reader; its text is "
    "sent without them.",
    "keys": "extras-left-out: Keys of {source} that are not carried over: {value}.",
    "opaque": "piece-left-out: {label} does not accept this here, so it is left out: {value}.",
    "media": "piece-left-out: {label} does not accept this here, so it is left out: {value}.",
    "media elsewhere": "piece-left-out: Left out: {value}; {source} keeps it, where {label} "
    "cannot read it.",
    "media absent": "piece-left-out: Left out: {value}; its content is not stored here.",
    "cache mark": "cache-mark-left-out: Cache marks are sent to Anthropic only; this one is left "
    "out.",
    "failure": "failure-left-out: The protocol cannot mark a tool result as failed; only its text "
    "is sent.",
    "text": "blank-text-left-out: Text of white space alone is refused, so it is left out.",
    "refusal": "blank-text-left-out: Text of white space alone is refused, so it is left out.",
    "message": "blank-left-out: A message that is empty or white space alone is refused, so it is "
    "left out.",
    "arguments": "arguments-wrapped: The arguments of “{value}” are not a JSON object; they are "
    "sent as a text in one.",
}
"""Code and sentence by the name of the reason, which for most is the kind of the loss. `{label}` is
the protocol, `{source}` the one it came from, `{value}` what is lost."""
_INFORMATION = ("reasoning without calls", "citations", "cache mark", "text", "refusal")


@dataclass(frozen=True, slots=True)
class _Loss:
    """A fact: something that a turn says, and what is sent of it perhaps does not."""

    kind: str
    value: Any
    """For the sentence: a text, a name, keys, a content."""
    block: int = -1
    """The index of its block; -1 for the message itself."""
    source: Protocol | None = None
    """The protocol that it came from, if only that one understands it."""


def loss_notes(
    turn: Turn,
    protocol: Protocol,
    hear: Callable[[], Iterable[Turn]],
    *,
    sends_marks: bool = False,
    reasons: Mapping[str, str] = MappingProxyType({}),
    unsaid: Collection[str] = (),
) -> Iterator[Note]:
    """Yield the notes on what a turn loses.

    `hear` returns the turns that the protocol's reader makes of what is sent of it; it is asked
    only if something can be lost. `sends_marks`: cache marks are sent. `reasons`: names of reasons
    by kind of loss, where fitting knows more than the kind. `unsaid`: kinds without a note.
    """
    if is_bare(turn):
        return
    losses = list(_losses(turn, list(hear()), protocol, sends_marks=sends_marks))
    thinkers = [loss.source for loss in losses if loss.kind == "reasoning"]
    others = dict.fromkeys(s.label for s in thinkers if s is not None and s is not protocol)
    said: set[str] = set()
    for loss in sorted(losses, key=lambda loss: _ORDER.get(loss.kind, 9)):
        source = loss.source.label if loss.source is not None else ""
        reason = reasons.get(loss.kind, loss.kind)
        if loss.kind == "reasoning":
            is_own = loss.source in (None, protocol)
            reason = reasons.get("reasoning", "reasoning unsigned") if is_own else "reasoning"
            source = " and ".join(others)
        if reason not in REASONS or loss.kind in unsaid:
            continue
        if loss.kind == "media":
            note = _media_note(turn, loss, protocol)
        else:
            note = reason_note(reason, turn.origin, protocol, loss.value, source)
        once = loss.kind in ("reasoning", "citations", "text", "refusal")
        if not (once and note.sentence in said):
            yield note
        said.add(note.sentence)


_ORDER = {"media": 0, "reasoning": 1, "name": 2, "document name": 3, "file name": 3, "failure": 10}
"""The order of the notes of a turn."""


def _media_note(turn: Turn, loss: _Loss, protocol: Protocol) -> Note:
    block = turn.blocks[loss.block]
    assert isinstance(block, MediaBlock)
    block = portable_media(block, protocol)
    what = f"{block.media} {block.mime}".strip() + (f" “{block.name}”" if block.name else "")
    reason, owner = "media", ""
    if not (block.text or block.data or block.url):
        is_kept = bool(block.file_id) and block.owner not in (None, protocol)
        reason = "media elsewhere" if is_kept else "media absent"
        owner = block.owner.label if block.owner is not None else ""
    return replace(reason_note(reason, turn.origin, protocol, what, owner), unsent=block)


def reason_note(
    reason: str, origin: Origin | None, protocol: Protocol, value: Any = "", source: str = ""
) -> Note:
    """Return the note for a reason by its name."""
    code, _, sentence = REASONS[reason].partition(": ")
    sentence = sentence.format(label=protocol.label, value=value, source=source)
    level = Level.INFO if reason in _INFORMATION else Level.WARNING
    return Note(level, code, sentence, origin)


def argument_notes(turn: Turn, protocol: Protocol) -> Iterator[Note]:
    """Yield the notes on arguments that have to be an object and are none."""
    for call in turn.tool_calls:
        if arguments_object(call.arguments) is None:
            yield reason_note("arguments", turn.origin, protocol, call.name)


# --- the comparison ----------------------------------------------------------------------


def is_bare(turn: Turn) -> bool:
    """Return True for a turn of texts, calls and results alone, of which nothing can be lost."""
    if turn.extras is not None or turn.name or turn.cache_mark is not None:
        return False
    for block in turn.blocks:
        match block:
            case TextBlock(is_refusal=False, extras=None, cache="") if block.text:
                pass
            case CallBlock(extras=None, cache=""):
                pass
            case ResultBlock(extras=None, cache="", failed=None | False):
                pass
            case _:
                return False
    return True


def _facts(turn: Turn) -> Iterator[_Loss]:
    if turn.name:
        yield _Loss("name", turn.name)
    for index, block in enumerate(turn.blocks):
        match block:
            case TextBlock() if block.text:
                yield _Loss("refusal" if block.is_refusal else "text", block.text, index)
            case ReasoningBlock() if block.text or keys_of(block):
                source = block.extras.protocol if block.extras is not None else None
                if block.extras and block.extras.form in ("thinking", "redacted_thinking"):
                    source = Protocol.ANTHROPIC  # litellm's list in Chat has Anthropic's
                yield _Loss("reasoning", block.text, index, source)
            case CallBlock():
                yield _Loss("call", block.name, index)
            case ResultBlock() if block.failed:
                yield _Loss("failure", True, index)
            case MediaBlock():
                content = standard_base64(block.data) or block.url or block.file_id or block.text
                yield _Loss("media", content, index)
                if block.name and block.media == "file":  # of a picture nobody misses it
                    kind = "document name" if block.text else "file name"
                    yield _Loss(kind, block.name, index)
            case _:
                pass


def _losses(
    turn: Turn, heard: Sequence[Turn], protocol: Protocol, *, sends_marks: bool
) -> Iterator[_Loss]:
    """Yield what a turn loses, in order."""
    left = Counter(
        (fact.kind, fact.value, fact.source) for other in heard for fact in _facts(other)
    )
    blocks = [block for other in heard for block in other.blocks]
    thoughts = "\0".join(block.text for block in blocks if isinstance(block, ReasoningBlock))
    # An address may have bytes in it, if their type is not known.
    words = "\0".join(
        block.text if isinstance(block, TextBlock) else block.url
        for block in blocks
        if isinstance(block, TextBlock | MediaBlock)
    )
    lost_media: set[int] = set()
    for fact in _facts(turn):
        kind, value = fact.kind, fact.value
        is_text = kind in ("text", "refusal", "media") and bool(value)
        if left[kind, value, fact.source]:
            left[kind, value, fact.source] -= 1
        elif kind == "reasoning" and fact.source is protocol and value and value in thoughts:
            pass
        elif not (is_text and value in words) and fact.block not in lost_media:
            if kind == "media":
                lost_media.add(fact.block)
            yield fact
    yield from _key_losses(turn.extras, protocol)
    for index, block in enumerate(turn.blocks):
        if isinstance(block, OpaqueBlock):
            if block.protocol is not protocol:
                yield _Loss("opaque", block.name or "a block", index, block.protocol)
        elif not isinstance(block, ReasoningBlock):  # its keys go with it
            yield from _key_losses(block.extras, protocol, block, index)
            if block.cache and not sends_marks:
                yield _Loss("cache mark", block.cache, index)


_CITATIONS = ("annotations", "citations")
"""Keys that list the citations of a text, in OpenAI's protocols and Anthropic's."""


def _key_losses(
    extras: Extras | None, protocol: Protocol, block: Block | None = None, index: int = -1
) -> Iterator[_Loss]:
    """Yield the citations, and what else only another protocol understands of a block, or of a
    message if it is None.
    """
    if extras is None or extras.protocol is protocol:
        return
    keys = {
        change.path[0]: change.value[0]
        for change in extras.changes
        if change.value and _sets_nothing(change.before[0])  # what we did not understand
    }
    for key, value in extras.keys.items():
        # A pair of an item and its part has the keys of both.
        is_pair = key in ("item", "part", "content") and isinstance(value, dict)
        keys |= cast("JsonObject", value) if is_pair else {key: value}
    cited = [key for key in _CITATIONS if isinstance(keys.get(key), list)]
    if any(keys[key] for key in cited):
        yield _Loss("citations", None, index)
    named = [
        key
        for key, value in keys.items()
        if key not in cited
        and not _sets_nothing(value)
        and not _is_said(key, value, block, extras.protocol)
    ]
    if named:
        yield _Loss("keys", ", ".join(named), index, extras.protocol)


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


def _sets_nothing(value: Json) -> bool:
    if isinstance(value, dict) and value:
        return all(inner == "" for inner in cast("JsonObject", value).values())
    return value in (None, "", [])


# --- notes on settings -------------------------------------------------------------------

SILENT: Mapping[str, str] = {
    "null, an empty text or list": "It sets nothing.",
    "model": "It is carried over, or replaced by the model that was asked for.",
    "stream": "Every protocol says it in its own way: a key, or Gemini's path.",
    "store: false": "Anthropic and Ollama store no replies.",
}
"""The values that another protocol's request may lack without a note, and why. The table in
docs/configuration.md is this one."""
_REDUNDANT = frozenset({"model", "stream"})
"""Keys that repeat a setting; see `SILENT`."""


def setting_note(name: str, why: str, origin: Origin, level: Level = Level.WARNING) -> Note:
    """Return the note for a setting that is not sent."""
    return Note(level, "setting-left-out", f"{with_key(name, origin)} is not sent: {why}.", origin)


def with_key(label: str, origin: Origin) -> str:
    """Return a setting's label, with its key in the request unless the label names it."""
    key = origin.id.rpartition(".")[2]
    return label if re.search(rf"\b{re.escape(key)}\b", label) else f"{label} ({origin.id})"


def default_note(origin: Origin, sentence: str) -> Note:
    """Return the note on a value that is not set and is sent because it is required."""
    return Note(Level.INFO, "default-invented", sentence, origin)


FILLER = "."
"""The smallest text that every provider accepts where it demands one and nobody wrote any."""
NOTHING_TO_SEND = Note(Level.ERROR, "nothing-to-send", "There is no message to send yet.")


def filler_note(why: str) -> Note:
    """Return the note on a message that is added."""
    sentence = f"The user message “{FILLER}” is added: {why}."
    return Note(Level.WARNING, "filler-added", sentence, GLUE)


# --- settings ----------------------------------------------------------------------------

_LABELS = {
    "replies": "the number of replies",
    "user_id": "the user's identifier",
    "reasoning_summary": "the reasoning summary",
}
_INFORMATIONAL = frozenset({"service_tier", "user_id", "store"})
"""Settings that change neither the prompt nor the reply."""
_IMPLIED: Mapping[str, tuple[object, str]] = {
    "replies": (1, "{} sends one reply anyway"),
    "reasoning_summary": ("none", "{} sends no summary anyway"),
    "parallel_tool_calls": (True, "{} allows several calls at once anyway"),
}
"""Values that say what happens anyway where there is no such setting, with that as the reason."""
_ONE_CHOICE = ("effort", "reasoning_budget")
"""Settings of which one is sent."""
_UNSENT = CONTEXT_SETTINGS | {"model", "stream", "web_search", *_ONE_CHOICE}
"""Settings that are not compared: no protocol has them, or the encoder says what becomes of
them."""


def setting_losses(
    asked: Parameters, heard: Parameters, protocol: Protocol, told: Collection[Origin]
) -> Iterator[Note]:
    """Yield the notes on settings that are asked for and not `heard` in what is sent; `told` are
    the origins of those of which the reason was said.
    """
    for name, origin in asked.origins.items():
        value = getattr(asked.values, name)
        if value is None or name in _UNSENT or origin in told or name in heard.origins:
            continue
        if name == "store" and value is False:
            continue
        label, why = _LABELS.get(name, name), "{} has no such setting"
        level = Level.INFO if name in _INFORMATIONAL else Level.WARNING
        if name == "logprobs":
            label = f"logprobs with top_logprobs {value}"
        if name in _IMPLIED and _IMPLIED[name][0] == value:
            level, why = Level.INFO, _IMPLIED[name][1]
        yield setting_note(label, why.format(protocol.label), origin, level)


# --- what only another protocol knows ----------------------------------------------------

_INFORMATIONAL_KEYS = frozenset(
    (
        *("background", "betas", "cache_control", "include", "inference_geo", "keep_alive"),
        *("labels", "metadata", "prompt_cache_key", "prompt_cache_options", "speed"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "serviceTier", "store"),
        *("stream_options", "user"),
    )
)
"""Keys of requests that affect neither the prompt nor the reply."""
_GROUPS = frozenset(
    ("reasoning", "text", "thinking", "output_config", "generationConfig", "toolConfig", "options")
)
"""Keys that hold several settings, each of which gets its own note."""
_FORMS = ("response_format", "tool_choice")
"""Settings whose form may say more than what is carried over."""


def _rest_notes(envelope: ChatEnvelope, rest: Extras, shared: Collection[str]) -> Iterator[Note]:
    """Yield the notes on the keys that only the protocol of a captured request knows."""
    owner, earlier = rest.protocol.label, EARLIER_TURNS.get(rest.protocol, ())
    origins = envelope.parameters.origins
    read = {origin.id for origin in origins.values()}
    forms = {origins[name].id for name in _FORMS if name in origins}
    groups = _GROUPS | {
        path[: match.start()] for path in read for match in re.finditer(r"\.|$", path)
    }
    left = {key: value for key, value in rest.keys.items() if key not in shared}
    for path, value in dict((*_leaves(left, "", groups - forms), *_changes(rest, forms))).items():
        key, level, code = path.partition(".")[0], Level.WARNING, "setting-left-out"
        if (path in read and path not in forms) or key in _REDUNDANT or value in (None, "", []):
            continue
        if path in forms:
            level, code = Level.INFO, "setting-changed"
            sentence = f"{path} is carried over without the form that it had for {owner}."
        elif key in earlier:
            level, code = Level.ERROR, "earlier-turns-missing"
            kept = f"{key} {value}" if isinstance(value, str) else key
            sentence = f"The request continues what {owner} keeps ({kept}); the messages before it "
            sentence += "are missing here."
        else:
            level = Level.INFO if key in _INFORMATIONAL_KEYS else level
            sentence = f"{path} was set for {owner} and is not carried over."
        yield Note(level, code, sentence, captured_origin(path))


def _leaves(
    fields: Mapping[str, Json], place: str, groups: Collection[str]
) -> Iterator[tuple[str, Json]]:
    """Yield the paths and values of keys, those in groups one by one."""
    for key, value in fields.items():
        path = f"{place}{key}"
        if path in groups and isinstance(value, dict) and value:
            yield from _leaves(cast("JsonObject", value), f"{path}.", groups)
        else:
            yield path, value


def _changes(rest: Extras, forms: Collection[str]) -> Iterator[tuple[str, Json]]:
    """Yield the forms that have a value otherwise than we write it, and the words of lists that we
    write without them, such as those of `include`.
    """
    for change in rest.changes:
        path, before, value = ".".join(change.path), change.before[0], [*change.value, None][0]
        form = next((form for form in forms if f"{path}.".startswith(f"{form}.")), "")
        if value is not None and form:
            yield form, value
        elif isinstance(before, list) and isinstance(value, list):
            for word in cast("list[Any]", value):
                if isinstance(word, str) and word not in before:
                    yield f"{path}.{word}", word


def _tool_notes(tool: RequestTool, owner: Protocol) -> Iterator[Note]:
    """Yield the notes on what only another protocol knows of a tool."""
    code, sentence = "tool-extras-left-out", ""
    keys = [
        key
        for key, value in keys_of(tool).items()
        if key not in ("type", "name") and value not in (None, "", [], {})
    ]
    if isinstance(tool, NativeTool) and tool.hosted is None:
        code = "tool-left-out"
        sentence = f"The tool “{tool.name}” has a form that only {owner.label} knows; it is left "
        sentence += "out."
    elif keys:
        sentence = f"Keys of the tool “{tool.name}” that are not carried over from {owner.label}: "
        sentence += f"{', '.join(keys)}."
    if sentence:
        yield Note(Level.WARNING, code, sentence, captured_origin("tools"))


# --- all of it ---------------------------------------------------------------------------


def begins_reply(turn: Turn) -> bool:
    """Return True for a turn written as the beginning of a reply (a prefill), if it is last."""
    written = (OriginKind.PRESET, OriginKind.SETTING, OriginKind.LORE)
    return turn.role == "assistant" and turn.origin.outermost.kind in written


def envelope_notes(
    envelope: ChatEnvelope, protocol: Protocol, shared: Collection[str] = ()
) -> Iterator[Note]:
    """Yield notes for what only another protocol knows of a request's tools and settings, and on
    what is not sent of a composed one.

    `shared`: settings that both protocols have under the same name, so that they are not.
    """
    if envelope.cache_marks and protocol is not Protocol.ANTHROPIC:
        verb = "is" if envelope.cache_marks == 1 else "are"
        sentence = f"Cache marks are sent to Anthropic only; {envelope.cache_marks} of the preset "
        sentence += f"{verb} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence)
    if envelope.source in (None, protocol):
        return
    for tool in envelope.tools or ():
        yield from _tool_notes(tool, envelope.source)
    if envelope.rest is not None:
        yield from _rest_notes(envelope, envelope.rest, shared)
