r"""Masking of a request's key where the provider repeats it.

1. Complete data (a body, an event, an error) is searched for the key as it is and as JSON may
   spell it: any character as `\u002d`, a slash as `\/`, and both again inside JSON that is a string
   in JSON.
2. Streamed text brings a key in pieces, so the end of a piece is held back as long as it may be the
   beginning of the key. If another part of the reply follows, it is released but still counts as a
   beginning: then the rest of the key is masked.
3. At the end of a stream, a held beginning of at least half the key is masked too.
4. An error is also searched for `PART` characters of the key and more in a row: a provider that
   cuts its message at some length, or shows most of a key, has them.
5. Tokens with their probabilities are not kept of a reply that repeats the key; see `send`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import AnyStr

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
"""Replaces the key."""

_SHORTEST = 6
"""Characters of the shortest key that is masked; shorter strings occur by chance."""
PART = 8
"""Characters of the shortest part of a key that is masked in an error."""
_MAX_BACKSLASHES = 8
"""Backslashes before an escape, in JSON nested in JSON strings."""


class KeyMask:
    """Masks one key in the response to the request that carried it."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _SHORTEST else ""
        spelled = "".join(map(_spellings, self._key))
        # In JSON, “n” after a single backslash is a line break and cannot begin the key.
        in_json = r"(?<!(?<!\\)\\)" * (self._key[:1] in _ESCAPES) + spelled
        self._in_json = re.compile(in_json) if self._key else None
        self._in_bytes = re.compile(in_json.encode()) if self._key else None
        self._longest = len(self._key) * (_MAX_BACKSLASHES + 5)
        """Length of the key's longest spelling, in characters."""
        self._parts: dict[tuple[str, int], _ReplyPart] = {}
        self.found = False
        """True if the server repeated the key."""
        self.was_split = False
        """True if the key came in pieces; they are still in the raw body."""

    def mask_text(self, text: str) -> str:
        """Return JSON, or any other text, without the key."""
        if self._in_json is None:
            return text
        pieces = _masked_pieces(self._in_json, text, self._longest, MASK)
        self.found |= len(pieces) > 1
        return "".join(pieces)

    def mask_bytes(self, body: bytes) -> bytes:
        """Return bytes without the key."""
        if self._in_bytes is None:
            return body
        pieces = _masked_pieces(self._in_bytes, body, self._longest, MASK.encode())
        self.found |= len(pieces) > 1
        return b"".join(pieces)

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a stream without the key; a possible beginning of it is held back."""
        if not self._key:
            yield from events
            return
        for event in events:
            match event:
                case TextDelta():
                    part = ("text", 0)
                    yield from self._release(None if self._begins_piece(event) else part)
                    # A signed piece stands alone: the rest of a key cannot follow in a later one.
                    text = self._append(part, event, event.text, whole=event.is_whole)
                    if text or event.extras is not None or not event.text:
                        yield replace(event, text=text)
                case RefusalDelta():
                    yield from self._release(("refusal", 0))
                    yield replace(event, text=self._append(("refusal", 0), event, event.text))
                case ReasoningDelta():
                    yield from self._release(("reasoning", event.index))
                    part = ("reasoning", event.index)
                    yield replace(event, text=self._append(part, event, event.text))
                case ToolCallDelta():
                    yield from self._release(("call", event.index))
                    part = ("call", event.index)
                    yield replace(event, arguments=self._append(part, event, event.arguments))
                case _:
                    yield event

    def close(self) -> Iterator[StreamEvent]:
        """Yield the text held back, at the end of the reply, however it ended."""
        yield from self._release(None, at_end=True)

    def _begins_piece(self, event: TextDelta) -> bool:
        last = self._parts.get(("text", 0))
        before = last.event.extras if last and isinstance(last.event, TextDelta) else None
        return event.is_whole or event.extras not in (None, before)

    def _append(
        self, name: tuple[str, int], event: StreamEvent, more: str, *, whole: bool = False
    ) -> str:
        """Append to a part of the reply; return the text that can be released."""
        part = self._parts.setdefault(name, _ReplyPart())
        if part.event is None or not isinstance(event, TextDelta) or event.extras is not None:
            part.event = event
        text = part.released + part.held + more
        start, output, done = len(part.released), "", 0
        while (match_start := text.find(self._key, done)) >= 0:
            end = match_start + len(self._key)
            if end > start:
                self.found = True
                self.was_split |= match_start < start + len(part.held)
                output += text[max(done, start) : match_start] + MASK
            done = end
        key_start = self._key_start(text, done)
        unmasked = max(done, start)
        part.released = text[key_start:unmasked] if key_start < unmasked else ""
        if whole:
            output += text[unmasked:]
            part.released, part.held = text[key_start:], ""
        else:
            output += text[unmasked : max(key_start, unmasked)]
            part.held = text[max(key_start, unmasked) :]
        return output

    def _release(
        self, but: tuple[str, int] | None, *, at_end: bool = False
    ) -> Iterator[StreamEvent]:
        """Yield the text held back in all parts except one."""
        for name, part in self._parts.items():
            if name == but or not part.held or part.event is None:
                continue
            text, part.released, part.held = part.held, part.released + part.held, ""
            if at_end and len(part.released) * 2 >= len(self._key):
                self.found = self.was_split = True
                text = MASK
            match part.event:
                case ToolCallDelta(index=index):
                    yield ToolCallDelta(index, arguments=text)
                case ReasoningDelta(index=index):
                    yield ReasoningDelta(index, text)
                case RefusalDelta():
                    yield RefusalDelta(text)
                case _:
                    yield TextDelta(text)

    def _key_start(self, text: str, after: int) -> int:
        """Return the offset at which the end of a text may begin the key; its length if nowhere."""
        for index in range(max(after, len(text) - len(self._key) + 1), len(text)):
            if self._key.startswith(text[index:]):
                return index
        return len(text)


class KeyMasks:
    """Masks several keys in the same response."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._masks: dict[str, KeyMask] = {}
        self.found_part = False
        """True if an error had a part of a key."""
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Mask another key."""
        self._masks.setdefault(key, KeyMask(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._masks)

    def mask_text(self, text: str) -> str:
        """Return JSON, or any other text, without the keys."""
        for mask in self._masks.values():
            text = mask.mask_text(text)
        return text

    def mask_bytes(self, body: bytes) -> bytes:
        """Return bytes without the keys."""
        for mask in self._masks.values():
            body = mask.mask_bytes(body)
        return body

    def are_spelled(self, pieces: Iterable[str]) -> bool:
        """Return True if the server repeated a key, or pieces of text spell one."""
        text = "".join(pieces)
        for mask in self._masks.values():
            mask.was_split |= mask.mask_text(text) != text
        return self.found

    def mask_error(self, text: str) -> str:
        """Return the text of an error without the keys and long parts of them."""
        return self.mask_error_bytes(text.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )

    def mask_error_bytes(self, body: bytes) -> bytes:
        """Return the body of an error without the keys and long parts of them."""
        body = self.mask_bytes(body)
        for key in self._masks:
            masked = _without_parts(body, key.encode("utf-8", "surrogatepass"))
            self.found_part |= masked != body
            body = masked
        return body

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a stream without the keys; see `KeyMask`."""
        for mask in self._masks.values():
            events = mask.mask_events(events)
        yield from events

    def close(self) -> Iterator[StreamEvent]:
        """Yield the text held back, at the end of the reply, however it ended."""
        held: list[StreamEvent] = []
        for mask in self._masks.values():
            held = [*mask.mask_events(held), *mask.close()]
        yield from held

    @property
    def found(self) -> bool:
        """True if the server repeated a key."""
        return any(mask.found for mask in self._masks.values())

    @property
    def was_split(self) -> bool:
        """True if a key came in pieces; they are still in the raw body."""
        return any(mask.was_split for mask in self._masks.values())


@dataclass(slots=True)
class _ReplyPart:
    """A growing part of the reply: its text, a reasoning block, a call's arguments."""

    released: str = ""
    """Released text that may still be the beginning of a key."""
    held: str = ""
    """Text held back after it."""
    event: StreamEvent | None = field(default=None)
    """Its last event, the model for the event that releases the held text."""


WINDOW = 64 * 1024
"""Characters searched in one call: `re` holds the GIL while it searches, for a second or more in an
event of 16 MB."""


def _masked_pieces(
    pattern: re.Pattern[AnyStr], text: AnyStr, longest: int, mask: AnyStr
) -> list[AnyStr]:
    """Return the text in pieces, with `mask` in place of every match; one piece if none."""
    pieces: list[AnyStr] = []
    done = 0
    for start, end in _matches(pattern, text, longest):
        pieces += (text[done:start], mask)
        done = end
    pieces.append(text[done:])
    return pieces


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


_ESCAPED = '/"\\'
"""Characters that JSON may spell with a backslash in front."""
_ESCAPES = ("b", "f", "n", "r", "t", "u", *_ESCAPED)
"""Characters that may follow a backslash in JSON."""


def _spellings(char: str) -> str:
    """Return a pattern for one character of a key in any JSON spelling."""
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{ord(char):04x}")
    slashes = rf"\\{{1,{_MAX_BACKSLASHES}}}"
    plain = re.escape(char)
    escaped = f"|{slashes}{plain}" if char in _ESCAPED else ""
    return f"(?:{plain}|{slashes}u{digits}{escaped})"
