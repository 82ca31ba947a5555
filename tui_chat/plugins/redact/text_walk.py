"""Goes through all texts of a transcript, and puts others in their place.

1. Every field of every value is visited, so a new field is searched from the moment it exists;
   `_STRUCTURE` names the few that are no texts.
2. A text that is JSON stays JSON: its strings are visited one by one, so also JSON within JSON. In
   base64 of a text, the text is visited, and what is put in its place is base64 again.
3. What depends on a text follows it: the digests of bodies, and the names that recipes have for
   revisions. The probabilities of tokens go, which have the text in pieces.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar, cast

from tui_chat.models.blocks import Block, CallBlock, Extras, MediaBlock, ReasoningBlock, TextBlock
from tui_chat.models.media import detect_mime_of_base64
from tui_chat.models.message import Message, Source, is_words, web_address
from tui_chat.models.session import RequestRecord, SessionTranscript
from tui_chat.plugins.redact.encodings import base64_runs, json_escaped, json_strings
from tui_chat.plugins.redact.patterns import Match
from tui_chat.plugins.redact.scanner import Scanner

T = TypeVar("T")
_STRUCTURE = frozenset(
    (
        *("id", "session_id", "role_id", "parent_id", "head_id", "message_id", "tool_call_id"),
        *("file_id", "sha256", "digest", "signature", "encrypted", "tokens", "fingerprint"),
        *("answered", "kind", "status", "protocol", "mime", "method", "operation", "shape"),
        *("role", "call_id", "media", "owner", "form"),
    )
)
"""Fields whose texts are ids, words of protocols, or opaque to everyone but a provider."""
_OPAQUE = frozenset(
    (
        *("id", "signature", "thoughtSignature", "thought_signature"),
        *("encrypted_content", "reasoning_opaque"),
    )
)
"""Keys of `Extras` with the same."""
_OPAQUE_REASONING = _OPAQUE | {"data"}
_PROPERTIES: Mapping[type, str] = {
    CallBlock: "tool_calls",
    MediaBlock: "parts",
    ReasoningBlock: "reasoning",
}
"""The names of blocks in places."""
_DEEPEST = 4
"""Levels of JSON or base64 within each other that are visited."""


class Place(NamedTuple):
    """A place in a transcript where something was found."""

    where: str
    """The part of the session, such as “message 3 (user)”."""
    field: str
    """The field, and the key of the value in its JSON."""
    offset: int
    """Characters of the text in front of it."""


Visit = Callable[[Match, str, Place], str | None]
"""Takes a find, its text and place; returns what to put there, None to leave it."""


class TextWalk:
    """Visits what a scanner finds in a transcript."""

    def __init__(self, scanner: Scanner, visit: Visit) -> None:
        self._scanner, self._visit = scanner, visit
        self._where = "session"
        self._revisions: dict[str, str] = {}
        """The new names of revisions by their old ones."""

    def transcript(self, transcript: SessionTranscript) -> SessionTranscript:
        """Return the transcript as the visits leave it."""
        session = self._value(transcript.session, "", "")
        entries: list[Any] = []
        for number, entry in enumerate(transcript.entries, 1):
            self._where = f"message {number} ({entry.message.role})"
            entries.append(self._value(entry, "", ""))
        others: dict[str, Any] = {}
        for name in ("role", "variables", "draft", "character", "user"):
            self._where = name
            others[name] = self._value(getattr(transcript, name), "", name)
        revisions = tuple(map(self._revision, transcript.revisions))
        requests: list[Any] = []
        for number, request in enumerate(transcript.requests, 1):
            self._where = f"request {number}"
            requests.append(replace(request, request=self._record(request.request)))
        return replace(
            transcript,
            session=session,
            entries=tuple(entries),
            revisions=revisions,
            requests=tuple(requests),
            **others,
        )

    # Values

    def _value(self, value: T, path: str, name: str, label: str = "") -> T:
        """Return a value with its texts visited; `path` is the way to it, `name` its field."""
        return cast("T", self._visited(value, path, name, label))

    def _visited(self, value: Any, path: str, name: str, label: str) -> Any:
        if isinstance(value, str):
            if not value or name in _STRUCTURE:
                return value
            return self._text(value, path, label or name)
        if isinstance(value, int) and label:
            after = self._text(str(value), path, label)
            return value if after == str(value) else after
        if isinstance(value, Message):
            return self._message(value, path)
        if isinstance(value, MediaBlock):
            return self._part(value, path)
        if isinstance(value, Source):
            return self._source(value, path)
        if isinstance(value, ReasoningBlock):
            visited = self._fields(value, path, "extras")
            extras = self._extras(value.extras, f"{path}.extras", _OPAQUE_REASONING)
            return replace(visited, extras=extras)
        if isinstance(value, Extras):
            return self._extras(value, path, _OPAQUE)
        if is_dataclass(value) and not isinstance(value, type):
            return self._fields(value, path)
        if isinstance(value, Mapping):
            return {
                self._text(str(key), path, "", is_key=True): self._visited(
                    item, f"{path}.{key}", "", str(key)
                )
                for key, item in cast("Mapping[Any, Any]", value).items()
            }
        if isinstance(value, (tuple, list)):
            items = cast("Sequence[Any]", value)
            is_pair = len(items) == 2 and all(isinstance(item, str) for item in items)
            labels = ("", items[0]) if is_pair else (label,) * len(items)
            visited = [
                self._visited(item, f"{path}[{index}]", name, labels[index])
                for index, item in enumerate(items)
            ]
            return visited if isinstance(value, list) else tuple(visited)
        if isinstance(value, frozenset):
            return frozenset(self._visited(item, path, name, "") for item in cast("Any", value))
        return value

    def _fields(self, value: Any, path: str, *except_names: str) -> Any:
        """Return a dataclass value with its fields visited; the same one without changes."""
        changes: dict[str, Any] = {}
        for field in fields(value):
            if field.name not in except_names:
                before = getattr(value, field.name)
                after = self._visited(before, f"{path}.{field.name}".lstrip("."), field.name, "")
                if after != before:
                    changes[field.name] = after
        return replace(value, **changes) if changes else value

    def _extras(self, extras: Extras | None, path: str, opaque: Collection[str]) -> Extras | None:
        """Return what a protocol wrote, with its texts visited but for what is opaque."""
        if extras is None:
            return None
        visited: Extras = self._fields(extras, path, "keys")
        return replace(visited, keys=self._keys(extras.keys, f"{path}.keys", opaque))

    def _keys(self, keys: Mapping[str, Any], path: str, opaque: Collection[str]) -> dict[str, Any]:
        visited: dict[str, Any] = {}
        for key, value in keys.items():
            place = f"{path}.{key}"
            if key in opaque and isinstance(value, str):
                visited[key] = value
                continue
            name = self._text(key, path, "", is_key=True)
            if isinstance(value, Mapping):
                visited[name] = self._keys(cast("Mapping[str, Any]", value), place, opaque)
            else:
                visited[name] = self._visited(value, place, "", key)
        return visited

    def _message(self, message: Message, path: str) -> Message:
        content = self._text(message.content, "content", "content")
        visited: Message = self._fields(message, path, "blocks")
        visited = replace(visited, about=replace(visited.about, tokens=""))
        blocks: list[Block] = []
        counts = Counter[str]()
        has_changed, has_words = content != message.content, False
        for block in message.blocks:
            if isinstance(block, TextBlock) and is_words(block):
                # What was found may lie in several texts: the first one gets all of the words.
                if has_changed and not has_words:
                    changed: TextBlock = self._fields(block, path, "text")
                    blocks.append(replace(changed, text=content))
                elif not has_changed:
                    blocks.append(self._fields(block, path, "text"))
                has_words = True
                continue
            name = _PROPERTIES.get(type(block), "blocks")
            number = counts[name] if name != "blocks" else len(blocks)
            blocks.append(self._value(block, f"{path}.{name}[{number}]".lstrip("."), ""))
            counts[name] += 1
        return replace(visited, blocks=tuple(blocks))

    def _part(self, part: MediaBlock, path: str) -> MediaBlock:
        visited: MediaBlock = self._fields(part, path, "data")
        if not part.data:
            return visited
        data = self._text(part.data, f"{path}.data", "", is_file=True)
        if data != part.data and not any(run.text for run in base64_runs(part.data)):
            return replace(visited, media="file", mime="text/plain", data="", text=data)
        return replace(visited, data=data)

    def _source(self, source: Source, path: str) -> Source:
        visited: Source = self._fields(source, path)
        if visited.url == source.url or web_address(visited.url) == visited.url:
            return visited
        return replace(visited, url="", file=visited.file or visited.url)

    def _revision(self, revision: tuple[str, str]) -> tuple[str, str]:
        kind, text = revision
        self._where = f"{kind} of the requests"
        visited = self._text(text, "json", "")
        self._revisions[_digest(text)] = _digest(visited)
        return kind, visited

    def _record(self, record: RequestRecord) -> RequestRecord:
        visited: RequestRecord = self._fields(record, "", "body", "recipe")
        recipe = _renamed(record.recipe, self._revisions)
        visited = replace(visited, recipe=self._value(recipe, "recipe", ""))
        if record.body is None:
            return visited
        try:
            text = record.body.decode()
        except UnicodeDecodeError:  # it cannot be searched
            data = b64encode(record.body).decode()
            found = Match(0, len(data), "file", data)
            is_kept = self._visit(found, data, Place(self._where, "body", 0)) is None
            return visited if is_kept else replace(visited, body=None)
        body = self._text(text, "body", "").encode()
        return replace(visited, body=body, sha256=sha256(body).hexdigest())

    # Texts

    def _text(
        self,
        text: str,
        path: str,
        label: str,
        *,
        is_key: bool = False,
        is_file: bool = False,
        depth: int = 0,
    ) -> str:
        """Return a text as the visits leave it."""
        stretches: list[tuple[int, int, str]] = []
        strings = json_strings(text) if depth < _DEEPEST else None
        if strings is not None:
            for string in strings:
                key = string.label if string.label and not string.is_key else ""
                inner = f"{path} · {key}" if key else path
                after = self._text(
                    string.text, inner, string.label, is_key=string.is_key, depth=depth + 1
                )
                if after != string.text:
                    escaped = json_escaped(after)
                    escaped = f'"{escaped}"' if string.is_number else escaped
                    stretches.append((string.start, string.end, escaped))
            return _replaced(text, stretches)
        matches = self._scanner.matches(text, label, is_key=is_key)
        for match in matches:
            place = Place(self._where, path, match.start)
            if (after := self._visit(match, text, place)) is not None:
                stretches.append((match.start, match.end, after))
        if depth < _DEEPEST:
            stretches += self._in_base64(text, path, label, matches, is_file=is_file, depth=depth)
        return _replaced(text, sorted(stretches))

    def _in_base64(
        self,
        text: str,
        path: str,
        label: str,
        matches: Sequence[Match],
        *,
        is_file: bool,
        depth: int,
    ) -> list[tuple[int, int, str]]:
        stretches: list[tuple[int, int, str]] = []
        for run in self._scanner.base64_runs(text):
            if any(match.start < run.end and run.start < match.end for match in matches):
                continue
            if run.text:
                after = self._text(run.text, path, label, depth=depth + 1)
                if after != run.text:
                    data = text[run.start : run.end]
                    encode = urlsafe_b64encode if re.search("[-_]", data) else b64encode
                    coded = encode(after.encode("utf-8", "replace")).decode()
                    padded = data.endswith("=") or len(data) % 4 == 0
                    stretches.append((run.start, run.end, coded if padded else coded.rstrip("=")))
            elif is_file or detect_mime_of_base64(text[run.start : run.start + 64]):
                data = text[run.start : run.end]
                match = Match(run.start, run.end, "file", data)
                after = self._visit(match, text, Place(self._where, path, run.start))
                if after is not None:
                    stretches.append((run.start, run.end, after))
        return stretches


def _replaced(text: str, stretches: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with others in place of some stretches."""
    pieces: list[str] = []
    end = 0
    for start, stop, after in stretches:
        pieces += (text[end:start], after)
        end = stop
    return "".join((*pieces, text[end:]))


def _renamed(recipe: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a recipe with the new names of its revisions."""

    def name(value: Any) -> Any:
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, list):
            return [name(item) for item in cast("list[Any]", value)]
        return value

    return {key: name(value) for key, value in recipe.items()}


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()
