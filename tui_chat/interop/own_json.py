"""Our own JSON: complete sessions, which can be imported without loss.

    {"format": "tui-chat", "version": 2, "program": "tui-chat 0.1.0",
     "sessions": [{"session": {...}, "role": {...}, "variables": {...}, "messages": [{...}, ...],
                   "revisions": [...], "requests": [...], "draft": "..."}]}

1. The keys of a session, a role and an entry are the fields of `Session`, `Role` and `Entry`,
   without those at their default. So a new field is exported at once, and has its default in older
   files. docs/formats.md describes them.
2. A message is in the form of OpenAI, as anyone reads it. It has its `blocks` too if that form does
   not give them back; then they count.
3. `version` is incremented when an older program could misread a file; a newer one is refused. In
   version 1 a message was one of the flat model.
4. A message comes after its parent, and siblings are in their order.
5. A file may come from anyone: types, ids, order, times, and texts that are JSON are checked.
6. Control and invisible characters are escaped, since people look at exports.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, TypeVar, cast

from tui_chat.errors import InputError
from tui_chat.interop.formats import UnreadableConversation
from tui_chat.interop.messages import message_json, read_message
from tui_chat.models.blocks import Block, ResultBlock
from tui_chat.models.boundary import InvalidValue, plain, read, read_own
from tui_chat.models.flat import FlatMessage, block_mutes, from_flat
from tui_chat.models.json_text import JsonObject, as_array, as_object, clean_json
from tui_chat.models.message import MOST_SOURCES, NOTHING_ABOUT, Message, web_address
from tui_chat.models.request_edit import edit_fault
from tui_chat.models.role import Role
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredRequest
from tui_chat.models.settings import (
    SettingError,
    Settings,
    read_settings,
    settings_json,
    with_nested_settings,
)
from tui_chat.models.token_probabilities import (
    PACKED_SIZE,
    TokenProbability,
    pack_tokens,
    unpack_tokens,
)

T = TypeVar("T")
FORMAT, VERSION = "tui-chat", 2

_ID = r"[0-9A-Za-z_.:-]{1,128}"
_LATEST = 253_402_300_800.0  # the year 10000
_DERIVED = ("sibling", "siblings")
"""Fields of an entry that follow from the tree."""
_METHOD, _URL, _SHA256 = "[A-Z]{1,20}", r"https?://[!-~]{1,4000}", "[0-9a-f]{64}"
_REVISIONS = ("endpoint", "preset", "role", "profile", "tools", "lorebook")


# Writing


def begin(program: str) -> str:
    """Return the beginning of a file; `program` is the name of its writer."""
    head = {"format": FORMAT, "version": VERSION, "program": program}
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "sessions": ['


def session_text(transcript: SessionTranscript, *, first: bool) -> Iterator[str]:
    """Yield a session as text; `first` if it is the first one in the file."""
    session = transcript.session
    facts: dict[str, Any] = {"session": plain(replace(session, edits=session.lasting_edits))}
    if transcript.role is not None:
        facts["role"] = plain(transcript.role)
    if transcript.variables:
        facts["variables"] = dict(transcript.variables)
    yield ("\n" if first else ",\n") + _text(facts)[:-1] + ', "messages": ['
    between = "\n"
    for entry in transcript.entries:
        facts = plain(replace(entry, message=_NO_MESSAGE))
        for name in ("message", *_DERIVED):
            facts.pop(name, None)
        yield between + _text({**_message_json(entry.message), **facts})
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


_NO_MESSAGE = Message("user")


def _message_json(message: Message) -> dict[str, Any]:
    """Return a message as anyone reads it, with what only we read of it beside."""
    fields = message_json(message)
    again = read_message(fields, "", 0)
    if (again.name, again.blocks) != (message.name, message.blocks):
        fields = message_json(message, has_media=False)
        fields["blocks"] = plain(message.blocks, tuple[Block, ...])
        if message.name == "":
            fields.pop("name", None)
    if message.tool_calls:  # without the word `function`, as in version 1
        calls = message.tool_calls
        fields["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
        ]
    if message.muted:
        fields["muted"] = plain(message.muted)
    if message.about != NOTHING_ABOUT:
        fields["about"] = plain(message.about)
        if packed := message.about.tokens:
            fields["about"]["tokens"] = plain(unpack_tokens(packed))
    if message.extras is not None:
        fields["extras"] = plain(message.extras)
    return fields


def _plain_request(sent: StoredRequest) -> dict[str, Any]:
    exported = {"message_id": sent.message_id, **plain(replace(sent.request, body=None))}
    body = sent.request.body
    if body is not None and sha256(body).hexdigest() == sent.request.sha256:
        try:
            exported["body"] = body.decode()
        except UnicodeDecodeError:  # no protocol makes such a body, but exact bytes are kept
            exported["body_base64"] = b64encode(body).decode()
    return exported


def end() -> str:
    """Return the end of a file."""
    return "\n]}\n"


def _text(value: object) -> str:
    return sanitize(json.dumps(value, ensure_ascii=False, allow_nan=False), "json")


# Reading


def is_own(data: JsonObject) -> bool:
    """Return True if the first keys of an object are those of our own format."""
    return data.get("format") == FORMAT


def check_version(data: JsonObject) -> int:
    """Return the version of a file. Raises UnreadableConversation for a newer one."""
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise UnreadableConversation(".version", "must be a whole number from 1")
    if version > VERSION:
        writer = data.get("program")
        by = f" by {writer[:60]}" if isinstance(writer, str) else ""
        raise UnreadableConversation(
            ".version",
            f"the file was written{by} in version {version} of the format; this program reads "
            f"version {VERSION}",
            advice="Update tui-chat.",
        )
    return version


def read_session(data: JsonObject, version: int = VERSION) -> SessionTranscript:
    """Return a session of a file of this version. Raises UnreadableConversation."""
    data = clean_json(data)
    session = _read(Session, with_nested_settings(data.get("session")), ".session")
    _check_session(session)
    role = None
    if data.get("role") is not None:
        role = _read(Role, with_nested_settings(data["role"]), ".role")
        _require(role.role_id == session.role_id, ".role.role_id", "must be the session's")
        _check_settings(role.settings, ".role.settings")
    variables = as_object(data.get("variables"))
    for name, value in variables.items():
        _require(isinstance(value, str), f".variables.{name[:60]}", "must be a text")
    known: set[str] = set()
    read_one = _flat_message if version == 1 else _message
    entries = tuple(
        _entry(item, read_one(item, place), known, place)
        for place, item in _objects(data, "messages")
    )
    requests = _objects(data, "requests")
    if version == 1:
        blocks = {entry.message.id: entry.message.blocks for entry in entries}
        requests = ((place, _with_block_mutes(item, blocks)) for place, item in requests)
    draft = data.get("draft", "")
    _require(isinstance(draft, str), ".draft", "must be a text")
    is_known = session.head_id is None or session.head_id in known
    _require(is_known, ".session.head_id", "must be one of the messages")
    return SessionTranscript(
        replace(session, edits=session.lasting_edits),
        entries,
        role,
        tuple(cast("dict[str, str]", variables).items()),
        tuple(_request(item, known, place) for place, item in requests),
        tuple(_revision(item, place) for place, item in _objects(data, "revisions")),
        cast("str", draft),
    )


def _require(is_met: bool, place: str, fault: str) -> None:
    """Raise UnreadableConversation unless a condition is met."""
    if not is_met:
        raise UnreadableConversation(place, fault)


def _read(kind: type[T] | Any, data: object, place: str, *, is_own: bool = True) -> T:
    """Return the value; checks its limits unless it `is_own`. Raises UnreadableConversation."""
    try:
        return read_own(kind, data) if is_own else read(kind, data)
    except InvalidValue as error:
        fault = error.faults[0]
        names = [name for name in fault.path if name != "message"]
        path = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names)
        raise UnreadableConversation(place + path, fault.sentence) from error


def _objects(data: JsonObject, name: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects of a list with their places."""
    values = data.get(name, [])
    _require(isinstance(values, list), f".{name}", "must be a list")
    for index, item in enumerate(cast("list[object]", values)):
        place = f".{name}[{index}]"
        _require(isinstance(item, dict), place, "must be an object")
        yield place, cast("JsonObject", item)


def _request(data: JsonObject, known: set[str], place: str) -> StoredRequest:
    message_id, body = data.get("message_id"), None
    _require(message_id in known, f"{place}.message_id", "must be one of the messages")
    text, coded = data.get("body"), data.get("body_base64")
    if text is not None or coded is not None:
        with suppress(ValueError):  # a lone surrogate, or invalid base64
            if isinstance(text, str):
                body = text.encode()
            elif isinstance(coded, str):
                body = b64decode(coded, validate=True)
        is_bytes, fault = body is not None, "must be a text, or base64 as `body_base64`"
        _require(is_bytes, f"{place}.body", fault)
    record = _read(RequestRecord, {**data, "body": None}, place)
    _check_time(record.created, f"{place}.created")
    for name, pattern in (("method", _METHOD), ("url", _URL), ("sha256", _SHA256)):
        is_right = re.fullmatch(pattern, getattr(record, name)) is not None
        _require(is_right, f"{place}.{name}", "is invalid")
    is_same = body is None or sha256(body).hexdigest() == record.sha256
    _require(is_same, f"{place}.body", "does not match `sha256`")
    return StoredRequest(cast("str", message_id), replace(record, body=body))


def _revision(data: JsonObject, place: str) -> tuple[str, str]:
    kind, text = data.get("kind"), data.get("json")
    _require(kind in _REVISIONS, f"{place}.kind", f"must be one of {', '.join(_REVISIONS)}")
    try:
        json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        fault = "must be the text of a JSON value"
        raise UnreadableConversation(f"{place}.json", fault) from None
    return cast("str", kind), cast("str", text)


def _entry(data: JsonObject, message: Message, known: set[str], place: str) -> Entry:
    fields = {key: value for key, value in data.items() if key not in _DERIVED}
    entry = replace(_read(Entry, {**fields, "message": {"role": "user"}}, place), message=message)
    parent = entry.parent_id
    _check_id(message.id, f"{place}.id")
    _require(message.id not in known, f"{place}.id", "is the id of an earlier message")
    is_after = parent is None or parent in known
    _require(is_after, f"{place}.parent_id", "must be an earlier message")
    known.add(message.id)
    _check_time(message.timestamp, f"{place}.timestamp")
    for name in ("seconds", "first"):
        is_time = 0 <= (getattr(entry, name) or 0) < _LATEST
        _require(is_time, f"{place}.{name}", "must be a number of seconds")
    is_price = entry.cost is None or (entry.cost.is_finite() and 0 <= entry.cost < 10**9)
    _require(is_price, f"{place}.cost", "must be a number of US dollars")
    _check_message(message, place)
    if entry.status == "streaming":  # exported while it was arriving
        return replace(entry, status="interrupted")
    return entry


def _message(data: JsonObject, place: str) -> Message:
    """Return a message of version 2."""
    _require("id" in data, f"{place}.id", "is missing")
    listed = data.get("blocks")
    if listed is None:
        try:
            message = read_message(data, "", 0)
        except InputError as error:
            key, fault = str(error).split(" ", 1)
            raise UnreadableConversation(place + key.removesuffix(":"), fault) from error
        names = ("muted", "about", "extras")
    else:
        message, names = _NO_MESSAGE, tuple(field.name for field in fields(Message))
    if "about" in data:
        data = {**data, "about": _with_packed_tokens(data["about"], f"{place}.about.tokens")}
    own = {"role": message.role} | {name: data[name] for name in names if name in data}
    read_part = _read(Message, own, place)
    if listed is not None:
        return read_part
    return replace(message, muted=read_part.muted, about=read_part.about, extras=read_part.extras)


_FLAT_KEYS = frozenset({"content", "parts", "tool_calls", "tool_call_id", "semantics"})


def message_with_blocks(data: object) -> object:
    """Return the JSON of a stored message with blocks, if it is one of before they existed.
    Raises InvalidValue.
    """
    flat = as_object(data)
    if "blocks" in flat or not flat.keys() & _FLAT_KEYS:
        return data
    return plain(from_flat(read_own(FlatMessage, flat)))


def inputs_with_blocks(data: JsonObject) -> JsonObject:
    """Return the JSON of stored inputs of a request with messages and pictures as blocks. Raises
    InvalidValue.
    """
    files = as_array(data.get("draft_parts"))
    if history := as_array(data.get("history")):
        data = {**data, "history": [message_with_blocks(each) for each in history]}
    if any("kind" in as_object(file) for file in files):
        sent = read_own(FlatMessage, {"role": "user", "parts": files})
        data = {**data, "draft_parts": plain(from_flat(sent).parts)}
    return data


def _flat_message(data: JsonObject, place: str) -> Message:
    """Return a message of version 1."""
    if "semantics" in data:
        tokens_place = f"{place}.semantics.tokens"
        data = {**data, "semantics": _with_packed_tokens(data["semantics"], tokens_place)}
    old = _read(FlatMessage, data, place)
    try:
        return from_flat(old)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UnreadableConversation(f"{place}.semantics", "is damaged") from error


def _with_block_mutes(request: JsonObject, blocks: Mapping[str, tuple[Block, ...]]) -> JsonObject:
    """Return a request of version 1 whose recipe lists what was muted by blocks."""
    recipe: JsonObject = as_object(request.get("recipe"))
    try:
        listed = cast("list[tuple[str, JsonObject]]", recipe["muted"])
        muted = [[id, block_mutes(each, blocks.get(id, ()))] for id, each in listed]
    except (ValueError, TypeError, LookupError, AttributeError):
        return request
    return {**request, "recipe": {**recipe, "muted": muted}}


def _with_packed_tokens(holder: object, place: str) -> object:
    """Return an object whose tokens are packed, as our values have them."""
    fields = as_object(holder)
    if "tokens" not in fields:
        return holder
    tokens = _read(tuple[TokenProbability, ...], fields["tokens"], place, is_own=False)
    packed = pack_tokens(tokens)
    _require(len(packed) <= 2 * PACKED_SIZE, place, "has more than is kept of a reply")
    return {**fields, "tokens": packed}


def _check_session(session: Session) -> None:
    _check_id(session.session_id, ".session.session_id")
    if session.role_id is not None:
        _check_id(session.role_id, ".session.role_id")
    _check_time(session.created, ".session.created")
    _check_time(session.updated, ".session.updated")
    _check_settings(session.settings, ".session.settings")
    if (fault := edit_fault(session.edits)) is not None:
        raise UnreadableConversation(f".session.edits{fault[0]}", fault[1])


def _check_settings(settings: Settings, place: str) -> None:
    try:
        read_settings(settings_json(settings))
    except SettingError as error:
        raise UnreadableConversation(place, str(error)) from error


def _check_id(id: str, place: str) -> None:
    _require(bool(re.fullmatch(_ID, id)), place, "must be 1 to 128 letters, digits and “_.:-”")


def _check_time(seconds: float | None, place: str) -> None:
    _require(0 <= (seconds or 0) < _LATEST, place, "must be seconds since 1970")


def _check_message(message: Message, place: str) -> None:
    """Raise UnreadableConversation for a message that protocols cannot encode, and for more sources
    than are kept of a reply, or unsafe addresses.
    """
    count = len(message.blocks)
    for index, block in enumerate(message.blocks):
        here = f"{place}.blocks[{index}]"
        is_head = message.role == "tool" and index == 0
        is_right = isinstance(block, ResultBlock) is is_head
        _require(is_right, here, "must be a result only as the first of a tool's message")
    _require(count > 0 or message.role != "tool", f"{place}.blocks", "must begin with a result")
    is_inside = all(0 <= index < count for index in message.muted.blocks)
    _require(is_inside, f"{place}.muted.blocks", "must be the indices of blocks")
    if summary := message.about.summary:
        is_count = min(summary.kept, summary.messages) >= 0
        _require(is_count, f"{place}.about.summary", "must not have negative numbers")
    sources, place = message.about.references.sources, f"{place}.about.references.sources"
    _require(len(sources) <= MOST_SOURCES, place, f"must have at most {MOST_SOURCES}")
    for index, source in enumerate(sources):
        is_safe = not source.url or web_address(source.url) == source.url
        _require(is_safe, f"{place}[{index}].url", "must be a web address")
