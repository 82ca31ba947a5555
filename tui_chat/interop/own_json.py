"""Our own JSON: sessions with all that belongs to them, to be read again without loss.

    {"format": "tui-chat", "version": 1, "program": "tui-chat 0.1.0",
     "sessions": [{"session": {...}, "role": {...}, "variables": {...}, "messages": [{...}, ...],
                   "revisions": [...], "requests": [...], "draft": "..."}]}

1. The keys of a session, a role and a message are the fields of `Session`, `Role`, `Message` and
   `Entry`, those at their default left out. So a field that is added is exported from that day
   on, and a file from before reads as if it had the default. docs/formats.md describes them.
2. `version` rises when a file could be misread by an older program; a newer one is refused.
3. A message follows its parent, siblings follow each other in their order.
4. What is read may come from anyone: types, ids, order and times are checked, and so are the
   texts that are JSON themselves, before anything believes them.
5. What a terminal would obey or a reader not see is escaped, since people look at exports.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from tui_chat.interop.json_stream import BadValue, JsonStream
from tui_chat.interop.transcript_builder import FoundConversation, UnreadableConversation, readable
from tui_chat.models.request import RequestRecord, StoredRequest
from tui_chat.models.role import Role
from tui_chat.models.sanitize import sanitize
from tui_chat.models.semantics import MessageSemantics
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import JsonObject, as_object
from tui_chat.protocols.common.request_fields import sanitize_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

FORMAT, VERSION = "tui-chat", 1

_ID = re.compile(r"[0-9A-Za-z_.:-]{1,128}")
_LATEST = 253_402_300_800.0  # the year 10000
_MOST = 2**53
_DERIVED = ("sibling", "siblings")
"""What an entry knows of its tree; the tree says it better."""
_METHOD = re.compile("[A-Z]{1,20}")
_URL = re.compile(r"https?://[!-~]{1,4000}")
_SHA256 = re.compile("[0-9a-f]{64}")
_REVISIONS = ("endpoint", "preset", "role", "profile", "tools", "lorebook")


# Writing


def begin(program: str) -> str:
    """Return how a file begins; `program` says who wrote it."""
    head = {"format": FORMAT, "version": VERSION, "program": program}
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "sessions": ['


def session_text(transcript: Transcript, *, first: bool) -> Iterator[str]:
    """Write a session; `first` if none was written before it."""
    facts: dict[str, Any] = {"session": _plain(Session, transcript.session)}
    if transcript.role is not None:
        facts["role"] = _plain(Role, transcript.role)
    if transcript.variables:
        facts["variables"] = dict(transcript.variables)
    yield ("\n" if first else ",\n") + _text(facts)[:-1] + ', "messages": ['
    between = "\n"
    for entry in transcript.entries:
        plain = _plain(Entry, entry)
        message = plain.pop("message")
        yield between + _text({**message, **plain})
        between = ",\n"
    yield "\n]"
    for name, many in (
        ("revisions", ({"kind": kind, "json": text} for kind, text in transcript.revisions)),
        ("requests", map(_plain_request, transcript.requests)),
    ):
        between = f', "{name}": [\n'
        for each in many:
            yield between + _text(each)
            between = ",\n"
        if between == ",\n":
            yield "\n]"
    yield f', "draft": {_text(transcript.draft)}}}' if transcript.draft else "}"


def _plain_request(sent: StoredRequest) -> dict[str, Any]:
    plain = _plain(RequestRecord, replace(sent.request, body=None))
    told = {"message_id": sent.message_id, **plain}
    body = sent.request.body
    if body is not None and sha256(body).hexdigest() == sent.request.sha256:
        try:
            told["body"] = body.decode()
        except UnicodeDecodeError:  # no protocol has such a body, but it would be the exact one
            told["body_base64"] = b64encode(body).decode()
    return told


def end() -> str:
    """Return how a file ends."""
    return "\n]}\n"


def _plain(kind: type, value: object) -> dict[str, Any]:
    plain = _adapter(kind).dump_python(value, exclude_defaults=True)
    for name in _DERIVED:
        plain.pop(name, None)
    return plain


def _text(value: object) -> str:
    return sanitize(json.dumps(value, ensure_ascii=False, allow_nan=False), "json")


# Reading


def is_header(said: JsonObject) -> bool:
    """Tell whether the keys read so far are those of our own format."""
    return said.get("format") == FORMAT


def check_version(said: JsonObject) -> None:
    """Refuse what a newer program wrote. Raises Unreadable."""
    version = said.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise UnreadableConversation(".version", "must be a whole number from 1")
    if version > VERSION:
        writer = said.get("program")
        by = f" by {writer[:60]}" if isinstance(writer, str) else ""
        raise UnreadableConversation(
            ".version",
            f"the file was written{by} in version {version} of the format, and this program "
            f"knows {VERSION}",
            advice="Update tui-chat.",
        )


def read_sessions(pieces: JsonStream) -> Iterator[FoundConversation]:
    """Read the array of sessions, one by one."""
    for index in pieces.elements():
        place = f"$.sessions[{index}]"
        try:
            value = pieces.value()
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
        else:
            yield readable(place, value, _found, may_be_empty=True)


def _found(said: JsonObject) -> tuple[Transcript, list[str]]:
    return read_session(said), []


def read_session(said: JsonObject) -> Transcript:
    """Return a session. Raises Unreadable."""
    said = sanitize_json(said)
    session = _read(Session, said.get("session"), ".session")
    _check_session(session)
    role = None if said.get("role") is None else _read(Role, said["role"], ".role")
    if role is not None and role.role_id != session.role_id:
        raise UnreadableConversation(".role.role_id", "must be the session's")
    variables = as_object(said.get("variables"))
    for name, value in variables.items():
        if not isinstance(value, str):
            raise UnreadableConversation(f".variables.{name[:60]}", "must be a text")
    told = said.get("messages", [])
    if not isinstance(told, list):
        raise UnreadableConversation(".messages", "must be a list")
    known: set[str] = set()
    entries = tuple(
        _entry(message, known, f".messages[{index}]")
        for index, message in enumerate(cast("list[object]", told))
    )
    draft = said.get("draft", "")
    if not isinstance(draft, str):
        raise UnreadableConversation(".draft", "must be a text")
    if session.head_id is not None and session.head_id not in known:
        raise UnreadableConversation(".session.head_id", "must be one of the messages")
    return Transcript(
        session,
        entries,
        role,
        tuple(cast("dict[str, str]", variables).items()),
        tuple(_request(each, known, place) for place, each in _each(said, "requests")),
        tuple(_revision(each, place) for place, each in _each(said, "revisions")),
        draft,
    )


def _each(said: JsonObject, name: str) -> Iterator[tuple[str, JsonObject]]:
    told = said.get(name, [])
    if not isinstance(told, list):
        raise UnreadableConversation(f".{name}", "must be a list")
    for index, each in enumerate(cast("list[object]", told)):
        if not isinstance(each, dict):
            raise UnreadableConversation(f".{name}[{index}]", "must be an object")
        yield f".{name}[{index}]", cast("JsonObject", each)


def _request(said: JsonObject, known: set[str], place: str) -> StoredRequest:
    message_id = said.get("message_id")
    if not isinstance(message_id, str) or message_id not in known:
        raise UnreadableConversation(f"{place}.message_id", "must be one of the messages")
    body = _body(said, place)
    record: RequestRecord = _read(RequestRecord, {**said, "body": None}, place)
    _check_time(record.created, f"{place}.created")
    for name, pattern, found in (
        ("method", _METHOD, record.method),
        ("url", _URL, record.url),
        ("sha256", _SHA256, record.sha256),
    ):
        if not pattern.fullmatch(found):
            raise UnreadableConversation(f"{place}.{name}", "is none")
    if body is not None and sha256(body).hexdigest() != record.sha256:
        raise UnreadableConversation(f"{place}.body", "is not the one that `sha256` tells")
    return StoredRequest(message_id, replace(record, body=body))


def _body(said: JsonObject, place: str) -> bytes | None:
    text, coded = said.get("body"), said.get("body_base64")
    try:
        if isinstance(text, str):
            return text.encode()
        if isinstance(coded, str):
            return b64decode(coded, validate=True)
    except ValueError as error:  # a lone surrogate, or no base64
        raise UnreadableConversation(
            f"{place}.body", "must be a text, or base64 as `body_base64`"
        ) from error
    if text is not None or coded is not None:
        raise UnreadableConversation(f"{place}.body", "must be a text")
    return None


def _revision(said: JsonObject, place: str) -> tuple[str, str]:
    kind, text = said.get("kind"), said.get("json")
    if not isinstance(kind, str) or kind not in _REVISIONS:
        raise UnreadableConversation(f"{place}.kind", f"must be one of {', '.join(_REVISIONS)}")
    try:
        json.loads(text if isinstance(text, str) else "")
    except (ValueError, RecursionError) as error:
        raise UnreadableConversation(f"{place}.json", "must be the text of a JSON value") from error
    return kind, cast("str", text)


def _entry(said: object, known: set[str], place: str) -> Entry:
    if not isinstance(said, dict):
        raise UnreadableConversation(place, "must be an object")
    plain = {k: v for k, v in cast("dict[str, Any]", said).items() if k not in _DERIVED}
    plain["message"] = said
    entry = _read(Entry, plain, place)
    message = entry.message
    _check_id(message.id, f"{place}.id")
    if message.id in known:
        raise UnreadableConversation(f"{place}.id", "another message before it has the same")
    if entry.parent_id is not None and entry.parent_id not in known:
        raise UnreadableConversation(
            f"{place}.parent_id", "must be a message that stands before it"
        )
    known.add(message.id)
    _check_time(message.timestamp, f"{place}.timestamp")
    for field, seconds in (("seconds", entry.seconds), ("first", entry.first)):
        if seconds is not None and not 0 <= seconds < _LATEST:
            raise UnreadableConversation(f"{place}.{field}", "must be a number of seconds")
    _check_semantics(message.semantics, f"{place}.semantics")
    if entry.status == "streaming":  # written while it arrived; nothing more of it comes here
        plain["status"] = "interrupted"
        return _read(Entry, plain, place)
    return entry


def _check_session(session: Session) -> None:
    _check_id(session.session_id, ".session.session_id")
    if session.role_id is not None:
        _check_id(session.role_id, ".session.role_id")
    _check_time(session.created, ".session.created")
    _check_time(session.updated, ".session.updated")
    if session.max_tokens is not None and not 0 < session.max_tokens < _MOST:
        raise UnreadableConversation(".session.max_tokens", "must be a number of tokens")


def _check_id(found: str, place: str) -> None:
    if not _ID.fullmatch(found):
        raise UnreadableConversation(place, "must be 1 to 128 letters, digits and “_.:-”")


def _check_time(found: float | None, place: str) -> None:
    if found is not None and not 0 <= found < _LATEST:
        raise UnreadableConversation(place, "must be seconds since 1970")


def _check_semantics(semantics: MessageSemantics, place: str) -> None:
    """Refuse what the protocols could not say again."""
    texts: list[tuple[str, str]] = []
    if layout := semantics.layout:
        for index, piece in enumerate(layout.pieces):
            here = f"{place}.layout.pieces[{index}]"
            if piece.length < 0:
                raise UnreadableConversation(f"{here}.length", "must not be negative")
            texts += [(f"{here}.data", piece.data), (f"{here}.cache", piece.cache)]
            texts.append((f"{here}.extras", piece.extras))
    if semantics.wire:
        texts.append((f"{place}.wire.extras", semantics.wire.extras))
    for here, text in texts:
        try:
            found: object = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UnreadableConversation(here, "must be the text of a JSON object")


def _read(kind: type, said: object, place: str) -> Any:
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(said)
    except ValidationError as error:
        raise _told(error, place) from error


def _told(error: ValidationError, place: str) -> UnreadableConversation:
    fault = error.errors(include_url=False, include_input=False)[0]
    names = [name for name in fault["loc"] if name != "message"]
    path = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names)
    return UnreadableConversation(place + path, fault["msg"][:1].lower() + fault["msg"][1:])


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    """Return pydantic's reader and writer of a value; made when first needed, as it takes time."""
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
