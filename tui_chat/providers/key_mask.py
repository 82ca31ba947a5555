r"""Masking of the keys of a request where the provider repeats them.

1. Complete data (a body, an event, an error) is searched for a key as it is and as JSON may
   spell it: any character as `\u002d`, a slash as `\/`, and both again inside JSON that is a string
   in JSON.
2. Streamed text brings a key in pieces, so the end of a piece is held back as long as it may be the
   beginning of a key. If another part of the reply follows, it is released but still counts as a
   beginning: then the rest of the key is masked.
3. At the end of a stream, a held beginning of at least half a key is masked too.
4. An error is also searched for `PART` characters of a key and more in a row: a provider that
   cuts its message at some length, or shows most of a key, has them.
5. Tokens with their probabilities are not kept of a reply that repeats a key; see `send`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import AnyStr, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import CREDENTIAL_MASK
from tui_chat.models.reply import (
    ReasoningDelta,
    RefusalDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

MASK = CREDENTIAL_MASK
"""Replaces a key."""

_SHORTEST = 6
"""Characters of the shortest key that is masked; shorter strings occur by chance."""
PART = 8
"""Characters of the shortest part of a key that is masked in an error."""
WINDOW = 64 * 1024
"""Characters searched in one call: `re` holds the GIL while it searches, for a second or more in an
event of 16 MB."""
_MAX_BACKSLASHES = 8
"""Backslashes before an escape, in JSON nested in JSON strings."""
_ESCAPED = '/"\\'
"""Characters that JSON may spell with a backslash in front."""
_ESCAPES = ("b", "f", "n", "r", "t", "u", *_ESCAPED)
"""Characters that may follow a backslash in JSON."""

_Delta: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta
_Place: TypeAlias = tuple[type[_Delta], int]
"""The part of a reply that grows: its text, its refusal, a reasoning block, a call's arguments."""


@dataclass(slots=True)
class _ReplyPart:
    """A growing part of the reply."""

    event: _Delta
    """Its last event, the model for the event that releases the held text."""
    released: str = ""
    """Released text that may still be the beginning of a key."""
    held: str = ""
    """Text held back after it."""


class KeyMasks:
    """Masks keys in the response to the request that carried them."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: list[str] = []
        """The longest first."""
        self._parts: dict[_Place, _ReplyPart] = {}
        self.found = False
        """True if the server repeated a key."""
        self.was_split = False
        """True if a key came in pieces; they are still in the raw body."""
        self.found_part = False
        """True if an error had a part of a key."""
        self._longest = 0
        """Length of the longest spelling of a key, in characters."""
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Mask another key."""
        if len(key) < _SHORTEST or key in self._keys:
            return
        self._keys = sorted([*self._keys, key], key=len, reverse=True)
        self._longest = len(self._keys[0]) * (_MAX_BACKSLASHES + 5)
        in_json = "|".join(map(_spelled, self._keys))
        self._in_json, self._in_bytes = re.compile(in_json), re.compile(in_json.encode())
        self._literal = re.compile("|".join(map(re.escape, self._keys)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def mask_text(self, text: str) -> str:
        """Return JSON, or any other text, without the keys."""
        return "".join(self._masked(self._in_json, text, MASK)) if self._keys else text

    def mask_bytes(self, body: bytes) -> bytes:
        """Return bytes without the keys."""
        return b"".join(self._masked(self._in_bytes, body, MASK.encode())) if self._keys else body

    def _masked(self, pattern: re.Pattern[AnyStr], text: AnyStr, mask: AnyStr) -> Iterator[AnyStr]:
        """Yield a text in pieces, with `mask` in place of every key."""
        done = 0
        for start, end in _matches(pattern, text, self._longest):
            yield text[done:start]
            yield mask
            self.found, done = True, end
        yield text[done:]

    def are_spelled(self, pieces: Iterable[str]) -> bool:
        """Return True if the server repeated a key, or pieces of text spell one."""
        text = "".join(pieces)
        self.was_split |= self.mask_text(text) != text
        return self.found

    def mask_error(self, text: str) -> str:
        """Return the text of an error without the keys and long parts of them."""
        body = self.mask_error_bytes(text.encode("utf-8", "surrogatepass"))
        return body.decode("utf-8", "surrogatepass")

    def mask_error_bytes(self, body: bytes) -> bytes:
        """Return the body of an error without the keys and long parts of them."""
        body = self.mask_bytes(body)
        for key in self._keys:
            masked = _without_parts(body, key.encode("utf-8", "surrogatepass"))
            self.found_part |= masked != body
            body = masked
        return body

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a stream without the keys; a possible beginning of one is held
        back.
        """
        for event in events:
            if not self._keys or not isinstance(event, _Delta):
                yield event
                continue
            place = (type(event), getattr(event, "index", 0))
            begins = isinstance(event, TextDelta) and self._begins_piece(event)
            yield from self._release(None if begins else place)
            if isinstance(event, ToolCallDelta):
                yield replace(event, arguments=self._append(place, event, event.arguments))
                continue
            text = self._append(place, event, event.text)
            is_text = isinstance(event, TextDelta)
            if text or not event.text or not is_text or event.extras is not None:
                yield replace(event, text=text)

    def close(self) -> Iterator[StreamEvent]:
        """Yield the text held back, at the end of the reply, however it ended."""
        yield from self._release(None, at_end=True)

    def _begins_piece(self, event: TextDelta) -> bool:
        last = self._parts.get((TextDelta, 0))
        before = last.event.extras if last and isinstance(last.event, TextDelta) else None
        return event.is_whole or event.extras not in (None, before)

    def _append(self, place: _Place, event: _Delta, more: str) -> str:
        """Append to a part of the reply; return the text that can be released."""
        part = self._parts.setdefault(place, _ReplyPart(event))
        if not isinstance(event, TextDelta) or event.extras is not None:
            part.event = event
        text = part.released + part.held + more
        start, output, done = len(part.released), "", 0
        for match_start, end in _matches(self._literal, text, self._longest):
            if end > start:
                self.found = True
                self.was_split |= match_start < start + len(part.held)
                output += text[max(done, start) : match_start] + MASK
            done = end
        key_start, unmasked = self._key_start(text, done), max(done, start)
        # A signed piece stands alone: the rest of a key cannot follow in a later one.
        is_whole = isinstance(event, TextDelta) and event.is_whole
        free = len(text) if is_whole else max(key_start, unmasked)
        part.released = text[key_start : len(text) if is_whole else unmasked]
        part.held = text[free:]
        return output + text[unmasked:free]

    def _release(self, but: _Place | None, *, at_end: bool = False) -> Iterator[StreamEvent]:
        """Yield the text held back in all parts except one."""
        for place, part in self._parts.items():
            if place == but or not part.held:
                continue
            text, part.released, part.held = part.held, part.released + part.held, ""
            if at_end and any(len(part.released) * 2 >= len(key) for key in self._keys):
                text = self._without_beginning(part.released, text)
            match part.event:
                case ToolCallDelta(index=index):
                    yield ToolCallDelta(index, arguments=text)
                case ReasoningDelta(index=index):
                    yield ReasoningDelta(index, text)
                case RefusalDelta():
                    yield RefusalDelta(text)
                case TextDelta():
                    yield TextDelta(text)

    def _without_beginning(self, said: str, held: str) -> str:
        """Return the held end of a text without the beginning of at least half a key."""
        for start in range(len(said)):
            end = said[start:]
            if any(key.startswith(end) and len(end) * 2 >= len(key) for key in self._keys):
                self.found = self.was_split = True
                return said[len(said) - len(held) : start] + MASK
        return held

    def _key_start(self, text: str, after: int) -> int:
        """Return the offset at which the end of a text may begin a key; its length if nowhere."""
        for index in range(max(after, len(text) - len(self._keys[0]) + 1), len(text)):
            end = text[index:]
            if any(key.startswith(end) for key in self._keys):
                return index
        return len(text)


def _matches(pattern: re.Pattern[AnyStr], text: AnyStr, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match; `longest` is the maximum length of a match."""
    position, size = 0, len(text)
    while position < size:
        match = pattern.search(text, position, min(position + WINDOW + longest, size))
        if match is None or match.start() >= position + WINDOW:
            position += WINDOW
        else:
            yield match.span()
            position = match.end()


def _without_parts(body: bytes, key: bytes) -> bytes:
    """Return a body in which everything is masked that is `PART` or more bytes of a key."""
    spans: list[tuple[int, int]] = []
    for part in {key[at : at + PART] for at in range(len(key) - PART + 1)}:
        start = body.find(part)
        while start >= 0:
            spans.append((start, start + PART))
            start = body.find(part, start + 1)
    pieces: list[bytes] = []
    done, masked_to = 0, -1
    for start, end in sorted(spans):
        if start > masked_to:
            pieces += (body[done:start], MASK.encode())
        done = masked_to = max(masked_to, end)
    return b"".join((*pieces, body[done:]))


def _spelled(key: str) -> str:
    """Return a pattern for a key in any JSON spelling."""
    # In JSON, “n” after a single backslash is a line break and cannot begin the key.
    return r"(?<!(?<!\\)\\)" * (key[0] in _ESCAPES) + "".join(map(_spellings, key))


def _spellings(char: str) -> str:
    """Return a pattern for one character of a key in any JSON spelling."""
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{ord(char):04x}")
    slashes = rf"\\{{1,{_MAX_BACKSLASHES}}}"
    plain = re.escape(char)
    escaped = f"|{slashes}{plain}" if char in _ESCAPED else ""
    return f"(?:{plain}|{slashes}u{digits}{escaped})"
