"""The JSON documents that commands print with `--json`: frozen dataclasses, written by pydantic.

`tui-chat docs --schema COMMAND` prints the JSON Schema of a command's document. Keys stay; new ones
may be added. A field has the attribute of its name, or what `of` says, of the value that the
document is made of. The module loads pydantic, so it is imported where a document is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args, get_type_hints

from pydantic import Field, TypeAdapter

from tui_chat.analysis.settings_report import set_parameters
from tui_chat.errors import ProviderError, Refused
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.boundary import plain
from tui_chat.models.message import NO_REFERENCES, References
from tui_chat.models.reply_end import end_sentence, reply_reason
from tui_chat.models.settings import setting_json, settings_json
from tui_chat.models.token_probabilities import unpack_tokens

if TYPE_CHECKING:
    from tui_chat.cli.ask import SavedFile
    from tui_chat.compose import Composed
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry, SessionSummary
    from tui_chat.workspace.workspace import Workspace

_T = TypeVar("_T")

IF_SET = Field(exclude_if=lambda value: not value and value != 0)
"""Leaves a key out that has nothing."""


def dump(value: Any) -> Any:
    """Return a document, or a list of them, as plain JSON."""
    if isinstance(value, list | tuple):
        return [dump(each) for each in cast("Sequence[Any]", value)]
    kind = cast("type[Any]", type(value))
    return TypeAdapter(kind).dump_python(value, mode="json", warnings=False)


def of(source: str | Callable[[Any], Any]) -> Any:
    """Declare a field that has an attribute of another name, or the result of a function."""
    read = source if callable(source) else attrgetter(source)
    return field(metadata={"of": read})


def document(kind: type[_T], source: object, **given: Any) -> _T:
    """Return a document of a value; `given` takes precedence."""
    values: dict[str, Any] = {}
    for each in fields(cast("Any", kind)):
        read = each.metadata.get("of") or attrgetter(each.name)
        value = given[each.name] if each.name in given else read(source)
        values[each.name] = _nested(_hints(kind)[each.name], value)
    return kind(**values)


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _nested(hint: Any, value: Any) -> Any:
    kinds: list[Any] = [each for each in (hint, *get_args(hint)) if is_dataclass(each)]
    if not kinds or value is None or isinstance(value, (kinds[0], dict)):
        return cast("Any", value)
    kind = kinds[0]
    if isinstance(value, list | tuple):
        return tuple(_nested(kind, each) for each in cast("Sequence[Any]", value))
    return document(kind, value)


def _references(references: References) -> dict[str, Any] | None:
    return None if references == NO_REFERENCES else plain(references)


def _parts(parts: Sequence[MediaBlock]) -> list[dict[str, Any]]:
    """Return pictures, sounds and files with the keys that this document has had from the start."""
    names = {"media": "kind", "owner": "protocol"}
    listed: list[dict[str, Any]] = plain([replace(part, extras=None) for part in parts])
    return [{names.get(key, key): value for key, value in part.items()} for part in listed]


def _tokens(packed: str) -> list[Any] | None:
    """Return the tokens of a reply with their probabilities; None if it has none."""
    return plain(unpack_tokens(packed)) if packed else None


# Parts of several documents


@dataclass(frozen=True, kw_only=True)
class CallDocument:
    """A tool call by a model, with the arguments as it wrote them."""

    id: str
    name: str
    arguments: str = of(lambda call: str(call.arguments))


@dataclass(frozen=True)
class UsageDocument:
    """Tokens: the input includes cached ones, the output reasoning."""

    input: int | None
    output: int | None
    cached: int | None
    cache_write: int | None
    reasoning: int | None


@dataclass(frozen=True)
class OriginDocument:
    """The source of a text."""

    kind: str
    id: str
    name: str
    within: Annotated[OriginDocument | None, IF_SET]


@dataclass(frozen=True)
class NoteDocument:
    """A note on a request: what was changed, dropped or is doubtful; `place` is a pointer."""

    level: str
    code: str
    sentence: str
    origin: OriginDocument | None
    place: str


# ask


@dataclass(frozen=True, kw_only=True)
class FileDocument:
    """A picture, sound or file of a reply; `path` is where it was saved."""

    kind: str = of("part.media")
    mime: str | None = of(lambda file: file.part.mime or None)
    path: str | None = of(lambda file: None if file.path is None else str(file.path))
    url: str | None = of(lambda file: file.part.url or None)


@dataclass(frozen=True, kw_only=True)
class ReplyDocument:
    """A reply, as `ask --json` prints it. The cost is in US dollars, and `session_id` is null for a
    temporary session.
    """

    session_id: str | None
    message_id: str = of("message.id")
    endpoint: str
    model: str
    content: str = of("message.content")
    refusal: str | None = of(lambda entry: entry.message.refusal or None)
    reasoning: str = of(lambda entry: entry.message.thought)
    tool_calls: tuple[CallDocument, ...] = of("message.tool_calls")
    references: dict[str, Any] | None = of(
        lambda entry: _references(entry.message.about.references)
    )
    tokens: list[Any] | None = of(lambda entry: _tokens(entry.message.about.tokens))
    files: tuple[FileDocument, ...]
    status: str
    finish_reason: str | None = of(
        lambda entry: reply_reason(entry) if entry.status == "complete" else None
    )
    provider_finish_reason: str | None = of(lambda entry: entry.finish or None)
    usage: UsageDocument
    seconds: float | None
    cost: float | None
    error: str | None


def reply_document(workspace: Workspace, entry: Entry, files: Sequence[SavedFile]) -> ReplyDocument:
    """Return a reply, with its pictures and files, and the error that ended it."""
    state, cost = workspace.state, workspace.replies.timing(entry).cost
    return document(
        ReplyDocument,
        entry,
        session_id=None if state.is_temporary else state.session_id,
        files=files,
        cost=None if cost is None else float(cost),
        error=entry.error or end_sentence(entry) or None,
    )


# read


@dataclass(frozen=True)
class ReplyErrorDocument:
    """Why a reply was `cut`, `refused`, or `ended` in words of the provider."""

    kind: str
    message: str
    code: str | None
    status: int | None
    advice: str


@dataclass(frozen=True, kw_only=True)
class RecordedReplyDocument:
    """A recorded reply, as far as it goes."""

    content: str = of("text")
    refusal: Annotated[str, IF_SET] = of(lambda reply: str(reply.refusal))
    reasoning: str = of("thought")
    tool_calls: tuple[CallDocument, ...] = of("calls")
    parts: Annotated[list[Any], IF_SET] = of(lambda reply: _parts(reply.parts))
    finish_reason: str | None = of(lambda reply: reply.finish and reply.finish.reason)
    provider_finish_reason: str | None = of(lambda reply: reply.finish and reply.finish.raw)
    references: Annotated[dict[str, Any] | None, IF_SET] = of(
        lambda reply: _references(reply.references)
    )
    tokens: Annotated[list[Any] | None, IF_SET] = of(lambda reply: _tokens(str(reply.tokens)))
    usage: UsageDocument
    error: ReplyErrorDocument | None


def recorded_reply_document(reply: Reply, error: ProviderError | None) -> RecordedReplyDocument:
    """Return a reply in the form that `read` prints."""
    finish, fault = reply.finish, None
    if isinstance(error, Refused):
        code = error.code or None
        fault = ReplyErrorDocument("refused", str(error), code, error.status, error.advice)
    elif error is not None:
        fault = ReplyErrorDocument("cut", str(error), None, None, error.advice)
    elif finish and finish.detail and finish.reason not in ("stop", "tool_calls"):
        fault = ReplyErrorDocument("ended", finish.detail, finish.raw, None, "")
    return document(RecordedReplyDocument, reply, error=fault)


# build and convert


@dataclass(frozen=True)
class PlacementDocument:
    """The place of a turn, and the rule that put it there."""

    kind: str
    rule: str
    anchor: Annotated[str, IF_SET]
    depth: Annotated[int | None, IF_SET]


@dataclass(frozen=True)
class SpanDocument:
    """A part of a turn's text with an origin of its own."""

    text: str
    origin: OriginDocument
    start: int


@dataclass(frozen=True, kw_only=True)
class TurnCallDocument:
    """A tool call of a turn, in OpenAI's form."""

    id: str
    type: str = of(lambda call: "function")
    function: dict[str, str] = of(lambda call: {"name": call.name, "arguments": call.arguments})


@dataclass(frozen=True, kw_only=True)
class TurnDocument:
    """A message of a request."""

    role: str
    content: str = of("text.plain")
    origin: OriginDocument
    placement: PlacementDocument
    tokens: int
    spans: Annotated[tuple[SpanDocument, ...], IF_SET] = of(
        lambda turn: turn.text.spans if len(turn.text.spans) > 1 else ()
    )
    tool_calls: Annotated[tuple[TurnCallDocument, ...], IF_SET]
    tool_call_id: Annotated[str | None, IF_SET]


@dataclass(frozen=True)
class DroppedDocument:
    """A message of the history that is not sent."""

    role: str
    preview: str
    tokens: int
    origin: OriginDocument


@dataclass(frozen=True, kw_only=True)
class TokensDocument:
    """The use of the context limit, in tokens."""

    total: int
    fixed: int
    history: int
    edits: int
    dropped: int
    muted: int
    limit: int | None
    reserve: int
    free: int | None
    counter: str
    exact: bool
    counted: str = of("how")


@dataclass(frozen=True, kw_only=True)
class ParameterDocument:
    """A setting of a request."""

    value: Any
    origin: OriginDocument


@dataclass(frozen=True)
class EnvelopeDocument:
    """A composed request, as `build --show envelope` prints it."""

    turns: tuple[TurnDocument, ...]
    dropped: tuple[DroppedDocument, ...]
    muted: tuple[DroppedDocument, ...]
    notes: tuple[NoteDocument, ...]
    tokens: TokensDocument | dict[str, Any]
    parameters: dict[str, ParameterDocument]


@dataclass(frozen=True)
class ConvertedDocument:
    """A request in another protocol, as `convert --report` prints it."""

    body: Any
    notes: tuple[NoteDocument, ...]


def envelope_document(composed: Composed) -> EnvelopeDocument:
    """Return a composed request as a document."""
    envelope, budget = composed.envelope, composed.envelope.budget
    turns = zip(envelope.turns, envelope.tokens, strict=True)
    return document(
        EnvelopeDocument,
        envelope,
        turns=[document(TurnDocument, turn, tokens=count) for turn, count in turns],
        notes=composed.notes,
        tokens={} if budget is None else document(TokensDocument, budget),
        parameters={
            name: document(ParameterDocument, origin, value=setting_json(value), origin=origin)
            for name, value, origin in set_parameters(envelope.parameters)
        },
    )


# sessions


@dataclass(frozen=True)
class SessionDocument:
    """A session in a list. Times are seconds since the epoch, UTC."""

    session_id: str
    title: str
    role_name: str
    model: str
    endpoint: str
    message_count: int
    total_tokens: int
    status: str
    updated: float
    created: float
    pinned: bool
    archived: bool
    unread: bool
    folder: str
    tags: tuple[str, ...]
    deleted: float | None
    fork_of: str
    client: str
    parent_id: str


@dataclass(frozen=True, kw_only=True)
class MessageDocument:
    """A message of a session's branch."""

    id: str = of("message.id")
    role: str = of("message.role")
    content: str = of("message.content")
    timestamp: str = of("message.timestamp")
    status: str
    muted: Annotated[Any, IF_SET] = of(lambda entry: plain(entry.message.muted))
    model: Annotated[str, IF_SET]
    endpoint: Annotated[str | None, IF_SET] = of(lambda each: each.endpoint if each.model else None)
    error: Annotated[str, IF_SET]
    tool_call_id: Annotated[str | None, IF_SET] = of("message.tool_call_id")
    tool_calls: Annotated[tuple[CallDocument, ...], IF_SET] = of("message.tool_calls")
    tokens: Annotated[list[Any] | None, IF_SET] = of(
        lambda entry: _tokens(entry.message.about.tokens)
    )


@dataclass(frozen=True, kw_only=True)
class WholeSessionDocument(SessionDocument):
    """A session with what it is set to, and the messages of its branch."""

    preset: str = of("preset_name")
    profile: str = of("profile_name")
    lorebooks: tuple[str, ...] = of("lorebook_names")
    settings: dict[str, Any] = of(lambda state: settings_json(state.settings))
    messages: tuple[MessageDocument, ...]


def whole_session_document(workspace: Workspace, summary: SessionSummary) -> WholeSessionDocument:
    """Return the active session."""
    messages = tuple(document(MessageDocument, entry) for entry in workspace.state.entries)
    return document(WholeSessionDocument, workspace.state, **summary._asdict(), messages=messages)
