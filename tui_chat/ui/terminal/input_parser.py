r"""Parses what the terminal sends: Textual's parser, with pastes and some keys handled here.

1. Everything between `ESC[200~` and `ESC[201~` is one paste. Textual 8.2 ends the paste at the
   first escape character in it, such as those of a colored log; the rest would arrive as keys,
   and its line ends as Enter. So pastes are collected here, in pieces of any size, and Textual's
   parser sees only the two markers. That is also a hundred times faster.
2. A terminal without bracketed paste sends a paste as if it were typed. Nobody types past an Enter
   within one read, so a burst of text with a line end inside is a paste too.
3. Alt+Enter is `ESC CR` in the plain protocol; Textual reads it as Enter.
4. xterm's `ESC[27;modifiers;code~` is passed on as kitty's `ESC[code;modifiersu`.
5. Every character that is typed is text, except control characters. Textual's `Key` takes for text
   only what Python prints as it is: not the joiner of an emoji sequence, the wide blank of an input
   method, or an emoji that is newer than this Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from time import monotonic
from unicodedata import category

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
"""The markers around a bracketed paste."""
BURST = 16
"""Characters in one read from which it may be an unmarked paste."""
LONG_BURST = 512
"""Characters from which it is one, even without a line end inside."""
BURST_TIMEOUT = 0.05
"""Seconds within which the next read continues a burst."""

_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_TEXT_ONLY = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_LINE_INSIDE = re.compile(r"[\r\n]+[^\r\n]")
_SHIFT = 2
_CONTROL = ("Cc", "Cs", "Zl", "Zp")
"""Categories of the characters that are no text when they are typed."""


class Key(events.Key):
    """A key whose character is text unless it is a control character. It has Textual's name, by
    which Textual finds the handlers.
    """

    @property
    def is_printable(self) -> bool:
        """True if it is text."""
        return self.character is not None and is_text(self.character)


class TerminalParser(XTermParser):
    """Parses terminal input in pieces of any size.

    `XTermParser` is private to Textual, but its only parser of terminal input; `feed` and
    `_sequence_to_key_events` are the two places in which a sequence can be handled differently.
    """

    def __init__(self, debug: bool = False, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._tail = ""
        """The end of the input, in which a marker may have begun."""
        self._pasting = False
        self._pasted: list[str] = []
        self._burst_until = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Yield the events of another piece; an empty one ends the input."""
        if not data:
            yield from super().feed(data)
            return
        if self._is_burst(data):
            yield events.Paste(data)
            return
        while data:
            if self._pasting:
                data = yield from self._collect_paste(data)
            else:
                data = yield from self._until_paste(data)

    def _until_paste(self, data: str) -> Generator[Message, None, str]:
        """Let Textual parse up to the next paste; return the rest."""
        received = self._tail + data
        position = received.find(PASTE_START)
        if position < 0:
            self._tail = _marker_start(received, PASTE_START)
            yield from super().feed(data)
            return ""
        after = position + len(PASTE_START) - len(self._tail)
        self._tail = ""
        self._pasting = True
        yield from super().feed(data[:after])
        return data[after:]

    def _collect_paste(self, data: str) -> Generator[Message, None, str]:
        """Collect the paste up to its end; return the rest."""
        received = self._tail + data
        position = received.find(PASTE_END)
        if position < 0:
            self._tail = _marker_start(received, PASTE_END)
            self._pasted.append(received[: len(received) - len(self._tail)])
            return ""
        self._pasted.append(received[:position])
        text = "".join(self._pasted)
        self._pasted.clear()
        self._tail = ""
        self._pasting = False
        for event in super().feed(PASTE_END):
            if not isinstance(event, events.Paste):  # its own is empty
                yield event
        yield events.Paste(text)
        return received[position + len(PASTE_END) :]

    def _is_burst(self, data: str) -> bool:
        if self._pasting or self._tail or not _TEXT_ONLY.fullmatch(data):
            return False
        now = self._clock()
        continues = now < self._burst_until
        line_inside = len(data) >= BURST and _LINE_INSIDE.search(data) is not None
        if not (continues or line_inside or len(data) >= LONG_BURST):
            return False
        self._burst_until = now + BURST_TIMEOUT
        return True

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence == "\x1b\r":
            return [Key("alt+enter", None)]
        if match := _OTHER_KEY.fullmatch(sequence):
            return self._other_key(int(match[1]), int(match[2]))
        keys = super()._sequence_to_key_events(sequence, alt)
        # Textual gives Alt+R the character “r”, which a field would insert.
        return [Key(key.key, None if alt else key.character) for key in keys]

    def _other_key(self, modifiers: int, code: int) -> Iterable[events.Key]:
        character = chr(code) if code < 0x110000 else ""
        if not character:
            return []
        if modifiers <= _SHIFT and is_text(character):
            return self._sequence_to_key_events(character)
        return super()._sequence_to_key_events(f"\x1b[{ord(character.lower()[0])};{modifiers}u")


def is_text(typed: str) -> bool:
    """Return True if typed characters are text: none is a control character or a line end."""
    return typed.isprintable() or not any(category(each) in _CONTROL for each in typed)


def _marker_start(text: str, marker: str) -> str:
    """Return the end of a text in which a marker may begin."""
    start = text.rfind("\x1b", -len(marker) + 1)
    return text[start:] if start >= 0 and marker.startswith(text[start:]) else ""
