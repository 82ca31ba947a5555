r"""A key that a provider repeats is hidden, in whatever it says.

1. What came whole (a body, an event, an error) is searched for the key as it is and as JSON may
   spell it: any character as `\u002d`, a slash as `\/`, and both again inside of JSON that is a
   string of JSON.
2. Streamed text brings a key in pieces, so the end of what came is held back as long as it can
   be the beginning of the key. Where another part of the reply follows, it is let go and still
   counts as a beginning: then the rest of the key is hidden.
3. At the end a beginning that is at least half of the key is hidden too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import AnyStr

from tui_chat.models.reply import (
    ReasoningDelta,
    RefusalDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

MASK = "[key]"
"""What stands where the key was."""

_SHORTEST = 6
"""Shorter ones are no secrets, and occur by chance."""
_MOST_SLASHES = 8
"""Backslashes in front of an escape: JSON in JSON in JSON."""


class KeyMask:
    """Hides one key in what the server said to the request that carried it."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _SHORTEST else ""
        spelled = "".join(map(_spellings, self._key))
        # In JSON, “n” after a single backslash is a line break and begins no key.
        in_json = r"(?<!(?<!\\)\\)" * (self._key[:1] in _ESCAPES) + spelled
        self._pattern = re.compile(spelled) if self._key else None
        self._in_json = re.compile(in_json) if self._key else None
        self._in_bytes = re.compile(in_json.encode()) if self._key else None
        self._longest = len(self._key) * (_MOST_SLASHES + 5)
        """Characters of the key's longest spelling."""
        self._parts: dict[tuple[str, int], _Part] = {}
        self.found = False
        """Whether the server repeated the key."""
        self.was_split = False
        """Whether it did so in pieces, which are in the body as it came."""

    def hide(self, text: str) -> str:
        """Return JSON, or any other text, without the key."""
        if self._in_json is None:
            return text
        parts: list[str] = []
        done = 0
        for start, end in _places(self._in_json, text, self._longest):
            parts += (text[done:start], MASK)
            done = end
        self.found |= bool(done)
        return "".join((*parts, text[done:])) if done else text

    def hide_in(self, body: bytes) -> bytes:
        """Return bytes without the key."""
        if self._in_bytes is None:
            return body
        parts: list[bytes] = []
        done = 0
        for start, end in _places(self._in_bytes, body, self._longest):
            parts += (body[done:start], MASK.encode())
            done = end
        self.found |= bool(done)
        return b"".join((*parts, body[done:])) if done else body

    def follow(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a stream without the key, what may begin one held back."""
        if not self._key:
            yield from events
            return
        for event in events:
            match event:
                case TextDelta():
                    part = ("text", 0)
                    yield from self._let_go(None if self._begins_piece(event) else part)
                    # A signed piece stands alone, so nothing of it can come later.
                    text = self._grow(part, event, event.text, whole=bool(event.signature))
                    if text or event.id or not event.text:
                        yield replace(event, text=text)
                case RefusalDelta():
                    yield from self._let_go(("refusal", 0))
                    yield replace(event, text=self._grow(("refusal", 0), event, event.text))
                case ReasoningDelta():
                    yield from self._let_go(("reasoning", event.index))
                    part = ("reasoning", event.index)
                    yield replace(event, text=self._grow(part, event, event.text))
                case ToolCallDelta():
                    yield from self._let_go(("call", event.index))
                    part = ("call", event.index)
                    yield replace(event, arguments=self._grow(part, event, event.arguments))
                case _:
                    yield event

    def close(self) -> Iterator[StreamEvent]:
        """Yield what was held back: the reply has ended, in whatever way."""
        yield from self._let_go(None, at_end=True)

    def _begins_piece(self, event: TextDelta) -> bool:
        last = self._parts.get(("text", 0))
        before = last.event.id if last and isinstance(last.event, TextDelta) else ""
        return bool(event.signature) or event.id not in ("", before)

    def cover(self, text: str) -> str:
        """Return a text of the same length without the key, for one that others point into."""
        if self._pattern is None:
            return text
        parts: list[str] = []
        done = 0
        for start, end in _places(self._pattern, text, self._longest):
            parts += (text[done:start], MASK.ljust(end - start, "•"))
            done = end
        return "".join((*parts, text[done:])) if done else text

    def _grow(
        self, name: tuple[str, int], event: StreamEvent, more: str, *, whole: bool = False
    ) -> str:
        """Add to a part of the reply; return what of it can be let out."""
        part = self._parts.setdefault(name, _Part())
        if part.event is None or not isinstance(event, TextDelta) or event.id:
            part.event = event
        text = part.out + part.held + more
        start, told, done = len(part.out), "", 0
        assert self._pattern is not None
        for begun, end in _places(self._pattern, text, self._longest):
            if end > start:
                self.found = True
                self.was_split |= begun < start + len(part.held)
                told += text[max(done, start) : begun] + MASK
                done = end
        at = self._beginning(text, done)
        begin = max(done, start)
        part.out = text[at:begin] if at < begin else ""
        if whole:
            told += text[begin:]
            part.out, part.held = text[at:], ""
        else:
            told += text[begin : max(at, begin)]
            part.held = text[max(at, begin) :]
        return told

    def _let_go(
        self, but: tuple[str, int] | None, *, at_end: bool = False
    ) -> Iterator[StreamEvent]:
        """Yield what is held back of all parts but one."""
        for name, part in self._parts.items():
            if name == but or not part.held or part.event is None:
                continue
            text, part.out, part.held = part.held, part.out + part.held, ""
            if at_end and self._covered(part.out) * 2 >= len(self._key):
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

    def _beginning(self, text: str, after: int) -> int:
        """Return where the end of a text may begin the key; its length where nowhere."""
        for at in range(max(after, len(text) - self._longest), len(text)):
            if text[at] in (self._key[0], "\\") and self._covered(text, at) >= 0:
                return at
        return len(text)

    def _covered(self, text: str, at: int = 0) -> int:
        """Return how many characters of the key a text spells from `at` to its end; -1 where it
        spells something else.
        """
        for number, wanted in enumerate(self._key):
            if at == len(text):
                return number
            if text[at] == wanted != "\\":
                at += 1
                continue
            begun = at
            while at < len(text) and text[at] == "\\":
                at += 1
            if not 0 < at - begun <= _MOST_SLASHES:
                return -1
            if at == len(text):
                return number
            if text[at] == "u":
                digits = text[at + 1 : at + 5].lower()
                if not f"{ord(wanted):04x}".startswith(digits):
                    return -1
                if len(digits) < 4:
                    return number
                at += 5
            elif text[at] == wanted and wanted in _ESCAPED:
                at += 1
            else:
                return -1
        return -1  # all of it, and more: it was found before


@dataclass(slots=True)
class _Part:
    """A part of the reply that grows: its text, a block of reasoning, a call's arguments."""

    out: str = ""
    """What was let out and may still be the beginning of a key."""
    held: str = ""
    """What is held back behind it."""
    event: StreamEvent | None = field(default=None)
    """The last event of it."""


_WINDOW = 64 * 1024
"""Characters that are searched at once: `re` holds the interpreter while it searches, for a second
or more in an event of 16 MB."""


def _places(pattern: re.Pattern[AnyStr], text: AnyStr, longest: int) -> Iterator[tuple[int, int]]:
    """Yield from where to where a pattern stands in a text; `longest` is the most it matches."""
    at, size = 0, len(text)
    while at < size:
        found = pattern.search(text, at, min(at + _WINDOW + longest, size))
        if found is None or found.start() >= at + _WINDOW:
            at += _WINDOW
        else:
            yield found.span()
            at = found.end()


_ESCAPED = '/"\\'
"""Characters that JSON may spell with a backslash in front."""
_ESCAPES = ("b", "f", "n", "r", "t", "u", *_ESCAPED)
"""What may stand behind a backslash in JSON."""


def _spellings(char: str) -> str:
    """Return a pattern for a character of a key in any spelling."""
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{ord(char):04x}")
    slashes = rf"\\{{1,{_MOST_SLASHES}}}"
    plain = re.escape(char)
    escaped = f"|{slashes}{plain}" if char in _ESCAPED else ""
    return f"(?:{plain}|{slashes}u{digits}{escaped})"
