"""The blocks of a message, and what only a protocol knows of each.

1. A message is blocks in order, flat. A message of the role `tool` begins with its `ResultBlock`;
   the blocks after it are the content of that result. So a place in a message is one index.
2. A field holds what several protocols can say. What one protocol wrote beyond that is `Extras` of
   the smallest thing that it belongs to: a block, a message, a tool, a request. `Extras` is the
   difference between what was read and what we would write:

       read == patched(written, extras_of(protocol, read, written))      for all JSON objects

   So a request comes back equal in its own protocol, whatever a reader understood of it.
3. A `Change` holds only while we would still write what we wrote then: an edit wins.
4. Only the protocol that is named in `Extras` reads them. For another one they are lost, by key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast
from typing import Protocol as Interface

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Accepts, ByKind
from tui_chat.models.endpoint import Protocol

Json: TypeAlias = Any
"""A JSON value; in what a writer returns also one with origins, see `protocols.common.trees`."""
JsonObject: TypeAlias = dict[str, Any]
MediaKind = Literal["image", "audio", "video", "file"]
Cache = Literal["", "default", "5m", "30m", "1h", "12h"]
"""A mark up to which the prompt is cached, by its lifetime; `default` for the provider's own, empty
for no mark."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that was read otherwise than we write it. An empty tuple stands for no value."""

    path: tuple[str, ...]
    """The keys that lead to it."""
    before: tuple[Json, ...]
    """What we write."""
    value: tuple[Json, ...]
    """What was read."""


@dataclass(frozen=True, slots=True)
class Extras:
    """What a protocol wrote of a thing and no field says."""

    protocol: Protocol
    form: str = ""
    """The name of the form in which it was written, if the protocol has several: a word of the
    protocol, such as `developer` or `reasoning_content`."""
    keys: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Keys that we do not write, objects within objects."""
    changes: tuple[Change, ...] = ()
    """Keys that we write otherwise, or that were missing: rare."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text of a message."""

    kind: ClassVar[Literal["text"]] = "text"
    text: str
    is_refusal: bool = False
    """True for the words in which a model refuses, which OpenAI separates from other text."""
    cache: Cache = ""
    extras: Extras | None = None


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """A piece of a model's reasoning. Its signature or encrypted form is in `extras`, and they name
    the only protocol that can use it, which may be another than the one that brought it.
    """

    kind: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str
    """Readable reasoning or its summary; empty for redacted or withheld reasoning."""
    extras: Extras | None = None

    @property
    def encrypted(self) -> str:
        """The reasoning that only its provider can read; empty for none."""
        names = ("data", "encrypted_content", "reasoning_opaque")
        opaque = (keys_of(self).get(name) for name in names)
        return next((text for text in opaque if isinstance(text, str) and text), "")


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A tool call by a model."""

    kind: ClassVar[Literal["call"]] = "call"
    id: str
    name: str
    arguments: str
    """As the model wrote them: usually a JSON object, but it may be broken JSON."""
    cache: Cache = ""
    extras: Extras | None = None


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """The head of a tool result; the blocks after it are its content."""

    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    name: str = ""
    """The tool's name, if known."""
    failed: bool | None = None
    """True if the tool failed; None if unknown."""
    cache: Cache = ""
    extras: Extras | None = None


@dataclass(frozen=True, slots=True)
class MediaBlock:
    """A picture, sound, video or file. One of `data`, `url`, `file_id` and `text` says what it is.
    If none does, it came damaged: no protocol sends it.
    """

    kind: ClassVar[Literal["media"]] = "media"
    media: MediaKind
    mime: str = ""
    """For example `image/png`; empty if unknown."""
    data: str = ""
    """The bytes in base64."""
    url: str = ""
    file_id: str = ""
    """The provider's id of a file that was uploaded before."""
    text: str = ""
    """A document given as plain text."""
    name: str = ""
    """File name or title, if any."""
    detail: str = ""
    """Images: how closely OpenAI is to look: `auto`, `low`, `high`, `original`."""
    owner: Protocol | None = None
    """The protocol that `file_id` or `url` belongs to, if it means nothing to others."""
    cache: Cache = ""
    extras: Extras | None = None


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A block that only its protocol understands."""

    kind: ClassVar[Literal["opaque"]] = "opaque"
    protocol: Protocol
    name: str
    """The protocol's word for it: `server_tool_use`, `web_search_call`, `executableCode`."""
    value: Json
    """The whole block as it came, for pass-through only."""
    extras: Extras | None = None


Block: TypeAlias = Annotated[
    TextBlock | ReasoningBlock | CallBlock | ResultBlock | MediaBlock | OpaqueBlock,
    ByKind(),
    Accepts("a block with its `kind`"),
]


class HasExtras(Interface):
    """A block, a message or a tool."""

    @property
    def extras(self) -> Extras | None: ...


def keys_of(holder: HasExtras) -> Mapping[str, Json]:
    """Return the keys of the extras of a thing, whatever the protocol; empty without extras."""
    return holder.extras.keys if holder.extras is not None else _NO_KEYS


_NO_KEYS: Mapping[str, Json] = {}


def own(holder: HasExtras, protocol: Protocol) -> Extras | None:
    """Return the extras of a thing if they are this protocol's."""
    extras = holder.extras
    return extras if extras is not None and extras.protocol is protocol else None


def form_of(holder: HasExtras, protocol: Protocol) -> str:
    """Return the form in which this protocol wrote a thing; empty for the usual one."""
    extras = own(holder, protocol)
    return extras.form if extras is not None else ""


# --- the difference of two JSON objects --------------------------------------------------


def extras_of(protocol: Protocol, read: JsonObject, written: JsonObject, form: str = "") -> Extras:
    """Return the extras of an object that was read and that we would write as `written`."""
    keys, changes = difference(read, written)
    return Extras(protocol, form, keys, changes)


def difference(read: JsonObject, written: JsonObject) -> tuple[JsonObject, tuple[Change, ...]]:
    """Return the keys of `read` that `written` lacks, and the values in which they differ."""
    changes: list[Change] = []
    return _missing(read, written, (), changes), tuple(changes)


def _missing(
    read: JsonObject, written: JsonObject, path: tuple[str, ...], changes: list[Change]
) -> JsonObject:
    """Return the keys that `written` lacks, and append what differs to `changes`."""
    missing: JsonObject = {}
    for key, value in read.items():
        if key not in written:
            missing[key] = value
            continue
        ours: Json = written[key]
        if isinstance(value, dict) and isinstance(ours, dict):
            fields, other = cast("JsonObject", value), cast("JsonObject", ours)
            if inner := _missing(fields, other, (*path, key), changes):
                missing[key] = inner
        elif not same_json(value, written[key]):
            changes.append(Change((*path, key), (written[key],), (read[key],)))
    changes += [
        Change((*path, key), (value,), ()) for key, value in written.items() if key not in read
    ]
    return missing


def same_json(one: Json, other: Json) -> bool:
    """Return True for equal JSON. Python takes 1, 1.0 and true for equal; JSON does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        fields, others = cast("JsonObject", one), cast("JsonObject", other)
        return fields.keys() == others.keys() and all(
            same_json(value, others[key]) for key, value in fields.items()
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        items, more = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(more) and all(map(same_json, items, more))
    return one == other and (isinstance(one, str) or type(cast("Json", one)) is type(other))


def unchanged(value: Json) -> Json:
    """Return the value itself."""
    return value


def patched(
    written: JsonObject, extras: Extras | None, plain: Callable[[Json], Json] = unchanged
) -> JsonObject:
    """Return what we write with the extras on it: the keys that it lacks, and the changes of values
    that are still as we wrote them then. `plain` removes the origins of a value for the comparison.
    """
    if extras is None or not (extras.keys or extras.changes):
        return written
    result = merged(written, extras.keys)
    for change in extras.changes:
        _apply(result, change, plain)
    return result


def merged(written: JsonObject, keys: Mapping[str, Json]) -> JsonObject:
    """Return an object with the keys that it lacks, objects within objects."""
    result = dict(written)
    for key, value in keys.items():
        if key not in result:
            result[key] = value
        elif isinstance(result[key], dict) and isinstance(value, Mapping):
            result[key] = merged(result[key], cast("Mapping[str, Json]", value))
    return result


def _apply(result: JsonObject, change: Change, plain: Callable[[Json], Json]) -> None:
    """Set or delete the value of a change, unless we write another one by now."""
    *holders, last = change.path
    for step in holders:
        inner = result.get(step)
        if not isinstance(inner, dict):
            return
        inner = result[step] = dict(cast("JsonObject", inner))
        result = inner
    if last not in result or not same_json(plain(result[last]), change.before[0]):
        return
    if change.value:
        result[last] = change.value[0]
    else:
        del result[last]
