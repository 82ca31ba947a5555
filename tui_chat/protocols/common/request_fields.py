"""Read a captured request without loss of a key.

1. A body is read strictly: what is not JSON, is nested too deep or holds numbers that JSON does
   not have is refused with an explanation.
2. An object becomes `Fields`. A reader takes out the keys that it understands; a value of an
   unexpected type stays in. The rest is passed through unchanged, so a request can be encoded
   again word for word, including keys that are unknown here.
3. A setting that a unified field can hold is taken if it is encoded to the same value again;
   else it is left to the protocol's namespace, whose value then wins in its own protocol.
4. Lone surrogates cannot be sent as UTF-8; they become U+FFFD, with a note.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard, TypeVar, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    Sourced,
    ToolDefinition,
    Turn,
)
from tui_chat.models.json_text import JsonError, decode_repaired, to_json, type_name
from tui_chat.models.semantics import (
    HostedTool,
    Namespace,
    NativeTool,
    Semantics,
    SessionSemantics,
    ToolSemantics,
)
from tui_chat.models.text import Origin, OriginKind


def load_request(
    body: bytes, protocol: Protocol, conversation: str = ""
) -> tuple[Fields, list[Note]]:
    """Parse a body as a JSON object. Returns it with notes on text that was cleaned.

    Raises InputError if it is not a request that could be sent, or lacks the key `conversation`.
    """
    title = f"This is not a valid {protocol.label} request"
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{title}: byte {error.start} is not UTF-8.") from error
    try:
        value, has_surrogates = decode_repaired(text)
    except JsonError as fault:
        raise InputError(f"{title}: {fault.place}: {fault.sentence}.") from fault
    if not isinstance(value, dict):
        raise InputError(f"{title}: it is {type_name(value)} and not an object.")
    if conversation and conversation not in value:
        raise InputError(f"{title}: it has no “{conversation}”.")
    notes: list[Note] = []
    if has_surrogates:
        sentence = (
            "The request has half of a surrogate pair, which is not a character and cannot be "
            "sent; U+FFFD replaces it."
        )
        notes.append(Note(Level.WARNING, "surrogate-replaced", sentence))
    return Fields(cast("dict[str, Any]", value), ""), notes


def excerpt(value: object) -> str:
    """Return a JSON value, cut to a length that fits into a sentence."""
    text = to_json(value)
    return text if len(text) <= _EXCERPT_LENGTH else f"{text[:_EXCERPT_LENGTH]}…"


_EXCERPT_LENGTH = 60


class Fields:
    """A JSON object whose keys are taken one by one. It works on a copy."""

    __slots__ = ("place", "remaining")

    def __init__(self, value: Mapping[str, Any], place: str) -> None:
        self.remaining = dict(value)
        """The keys that have not been taken yet."""
        self.place = place
        """Its place in the body, for errors: `messages[3]`."""

    def take_text(self, key: str) -> str:
        """Take a string that is not empty; leave anything else and return the empty string."""
        value = self.remaining.get(key)
        if isinstance(value, str) and value:
            del self.remaining[key]
            return value
        return ""

    def take_number(self, key: str) -> float | None:
        """Take a number."""
        value = self.remaining.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        del self.remaining[key]
        return value

    def take_integer(self, key: str) -> int | None:
        """Take a whole number."""
        value = self.remaining.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        del self.remaining[key]
        return value

    def take_boolean(self, key: str) -> bool | None:
        """Take `true` or `false`."""
        value = self.remaining.get(key)
        return self.remaining.pop(key) if isinstance(value, bool) else None

    def take_object(self, key: str) -> dict[str, Any] | None:
        """Take an object that is not empty."""
        value = self.remaining.get(key)
        return self.remaining.pop(key) if isinstance(value, dict) and value else None

    def take_strings(self, key: str) -> tuple[str, ...]:
        """Take a list of strings that is not empty."""
        value = self.remaining.get(key)
        if not isinstance(value, list) or not value:
            return ()
        texts = cast("list[object]", value)
        if not all(isinstance(each, str) for each in texts):
            return ()
        del self.remaining[key]
        return tuple(cast("list[str]", texts))

    def take_equal(self, key: str, value: object) -> bool:
        """Take a key if it has exactly this value."""
        found = self.remaining.get(key, _ABSENT)
        if found is _ABSENT or found != value or isinstance(found, bool) != isinstance(value, bool):
            return False
        del self.remaining[key]
        return True

    def take_fields(self, key: str) -> Fields | None:
        """Take an object that is not empty apart in its turn; give back what is left of it with
        `put_back`.
        """
        value = self.remaining.get(key)
        if not isinstance(value, dict) or not value:
            return None
        del self.remaining[key]
        return Fields(cast("dict[str, Any]", value), self.path(key))

    def put_back(self, key: str, inner: Fields) -> None:
        """Keep what is left of an inner object under its key."""
        if inner.remaining:
            self.remaining[key] = inner.remaining

    def take_list(self, key: str) -> Iterator[Fields]:
        """Take a list of objects. Raises InputError if it is not a list."""
        value = self.remaining.pop(key, None)
        if not isinstance(value, list):
            raise InputError(f"{self.path(key)} must be a list, not {type_name(value)}.")
        for index, each in enumerate(cast("list[object]", value)):
            place = f"{self.path(key)}[{index}]"
            if not isinstance(each, dict):
                raise InputError(f"{place} must be an object, not {type_name(each)}.")
            yield Fields(cast("dict[str, Any]", each), place)

    def path(self, key: str) -> str:
        """Return the place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def remaining_json(self) -> str:
        """Return what is left as compact JSON; empty if nothing is."""
        return to_json(self.remaining) if self.remaining else ""


_ABSENT = object()


T = TypeVar("T")
S = TypeVar("S", bound=Namespace)


def sourced(name: str, value: T | None) -> Sourced[T] | None:
    """Return a setting as the captured request gave it; None if it did not."""
    if value is None:
        return None
    origin = Origin(OriginKind.SETTING, name, f"{name}, from the captured request")
    return Sourced(value, origin)


def captured_model(name: str) -> Sourced[str]:
    """Return the model as a setting; an unknown one is empty."""
    origin = Origin(OriginKind.SETTING, "model", "model, from the captured request")
    return Sourced(name, origin)


def read_settings(kind: type[S], left: dict[str, Any]) -> S:
    """Take the keys that a namespace has fields for out of `left`, and return the namespace."""
    names = [each.name for each in dataclasses.fields(kind) if each.name not in kind.form_only]
    return kind(**{n: left.pop(k) for n in names if (k := kind.keys.get(n, n)) in left})


def is_count(value: object) -> TypeGuard[int]:
    """Return True for a whole number that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class Meanings:
    """What settings of a captured request mean in unified parameters. The settings stay in their
    namespace, which gives them back word for word; this is for other protocols.
    """

    def __init__(self, settings: type[Namespace] = Namespace) -> None:
        self._settings = settings
        self.values: dict[str, Sourced[Any]] = {}
        """By the parameter's name."""
        self.paths: set[str] = set()
        """See `Semantics.unified`."""

    def add(self, parameter: str, value: object, *paths: str, name: str = "") -> None:
        """Record what the settings at these paths of the namespace mean. `name` is that of the
        setting in notes, the first path if empty.
        """
        name = name or self._settings.body_path(paths[0])
        self.values[parameter] = cast("Sourced[Any]", sourced(name, value))
        self.paths.update(paths)


Tools = tuple[tuple[ToolDefinition, ...] | None, tuple[NativeTool, ...]]
"""The functions, None if the request has no tools, and the protocol's other tools."""


def captured_envelope(
    request: Fields,
    turns: Iterable[Turn],
    parameters: Parameters,
    tools: Tools,
    settings: Namespace,
    notes: Iterable[Note],
    *,
    known: Collection[str] = (),
    meanings: Meanings | None = None,
    session: SessionSemantics | None = None,
) -> ChatEnvelope:
    """Return the envelope of a captured request; what is left of it is kept for pass-through.

    `known` are the types of content that the protocol has although no unified message can express
    them. A note tells of all others.
    """
    functions, native = tools
    turns = tuple(turns)
    meanings = meanings or Meanings()
    hosted = [tool.hosted for tool in native if tool.hosted is not None]
    if hosted:
        beside = meanings.values.get("hosted_tools")  # a setting of its own, in OpenAI Chat
        meanings.add("hosted_tools", (*hosted, *(beside.value if beside else ())), "tools")
    protocol, rest = settings.protocol, request.remaining
    semantics = Semantics(
        source=protocol,
        session=session or SessionSemantics(),
        tools=ToolSemantics(native=native),
        settings=settings,
        unified=frozenset(meanings.paths),
        provider_extras={protocol: rest} if rest else {},
    )
    parameters = replace(parameters, **meanings.values)
    notes = (*notes, *_unknown_notes(turns, known, protocol))
    return ChatEnvelope(turns, parameters, functions, notes=notes, semantics=semantics)


def _unknown_notes(
    turns: Iterable[Turn], known: Collection[str], source: Protocol
) -> Iterator[Note]:
    """Yield a note for each unknown type of content."""
    places: dict[str, list[Turn]] = {}
    for turn in turns:
        layout = turn.semantics.layout
        for piece in layout.pieces if layout is not None else ():
            if piece.kind == "other" and piece.name not in known:
                places.setdefault(piece.name, []).append(turn)
    for name, found in places.items():
        what = f"Content of the type {excerpt(name)} is" if name else "Content without a type is"
        times = f" ({len(found)} times)" if len(found) > 1 else ""
        sentence = f"{what} not known here{times}: to {source.label} it is sent as it came."
        yield Note(Level.WARNING, "unknown-content", sentence, found[0].origin)


def read_tools(
    request: Fields,
    protocol: Protocol,
    read: Callable[[Fields], ToolDefinition | None],
    read_hosted: Callable[[Fields], HostedTool | None] = lambda tool: None,
) -> Tools:
    """Take `tools` apart: the functions that `read` accepts, and the protocol's other tools, with
    the meaning that `read_hosted` finds in them. It takes the keys that it understands.
    """
    if request.remaining.get("tools") is None:
        return None, ()
    tools: list[ToolDefinition] = []
    native: list[NativeTool] = []
    for position, entry in enumerate(request.take_list("tools")):
        whole = dict(entry.remaining)
        tool = read(entry)
        if tool is None:
            kind = str(whole.get("type") or whole.get("name") or "tool")
            native.append(native_tool(protocol, position, kind, whole, read_hosted))
        else:
            tools.append(tool)
    return tuple(tools), tuple(native)


def native_tool(
    protocol: Protocol,
    position: int,
    name: str,
    whole: dict[str, Any],
    read_hosted: Callable[[Fields], HostedTool | None],
) -> NativeTool:
    """Return one of the protocol's own tools, with its meaning for others if it has one."""
    fields = Fields(whole, "tools")
    hosted = read_hosted(fields)
    if hosted is None:
        return NativeTool(protocol, position, name, to_json(whole))
    hosted = replace(hosted, position=position)
    lost = tuple(key for key, value in fields.remaining.items() if value is not None)
    return NativeTool(protocol, position, name, to_json(whole), hosted, lost)


def take_if_reversible(
    fields: Fields, key: str, read: Callable[[Any], T | None], write: Callable[[T], Any]
) -> T | None:
    """Return the meaning of a key; take the key if `write` gives back the same value (rule 3)."""
    value = fields.remaining.get(key)
    if value is None:
        return None
    meaning = read(value)
    if meaning is not None and write(meaning) == value:
        del fields.remaining[key]
    return meaning


_UPPER = re.compile(r"[A-Z]")


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _UPPER.sub(lambda found: "_" + found[0].lower(), name)


_LOWER = re.compile(r"_([a-z0-9])")


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    return _LOWER.sub(lambda found: found[1].upper(), name)
