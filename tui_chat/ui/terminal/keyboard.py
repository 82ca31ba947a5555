r"""What a terminal sends, as events: Textual's parser, with pastes taken out of its hands.

1. What stands between `ESC[200~` and `ESC[201~` is pasted, whatever it is. Textual 8.2 leaves
   the paste at the first escape character in it, such as those of a coloured log: what follows
   would arrive as keys, and its line ends as Enter. So pastes are collected here, in pieces
   of any size, and Textual's parser sees the two markers only. It is also a hundred times faster.
2. A terminal without bracketed paste sends a paste as if it were typed. Nobody types beyond an
   Enter within one read: a burst of text with a line end inside it is a paste too.
3. Alt+Enter is `ESC CR` where there is no better protocol; Textual reads it as Enter.
4. xterm's other keys, `ESC[27;modifiers;code~`, are said as kitty's, `ESC[code;modifiersu`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from time import monotonic

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

PASTE, PASTED = "\x1b[200~", "\x1b[201~"
"""How a bracketed paste begins and ends."""
BURST = 16
"""Characters in one read from which it may be a paste that the terminal did not mark."""
LONG_BURST = 512
"""Characters from which it is one, wherever its line ends are."""
BURST_GOES_ON = 0.05
"""Seconds within which the next read belongs to the same burst."""

_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_TEXT_ONLY = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_LINE_INSIDE = re.compile(r"[\r\n]+[^\r\n]")
_SHIFT = 2


class Keyboard(XTermParser):
    """A parser of what the terminal sends; feed it pieces of any size."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._tail = ""
        """The end of what came, where a marker may have begun."""
        self._pasting = False
        self._pasted: list[str] = []
        self._burst_until = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Return the events of another piece; an empty one ends the stream."""
        if not data:
            yield from super().feed(data)
            return
        if self._is_burst(data):
            yield events.Paste(data)
            return
        while data:
            if self._pasting:
                data = yield from self._collected(data)
            else:
                data = yield from self._until_paste(data)

    def _until_paste(self, data: str) -> Generator[Message, None, str]:
        """Let Textual read as far as the next paste; return what is left."""
        come = self._tail + data
        found = come.find(PASTE)
        if found < 0:
            self._tail = _beginning(come, PASTE)
            yield from super().feed(data)
            return ""
        after = found + len(PASTE) - len(self._tail)
        self._tail = ""
        self._pasting = True
        yield from super().feed(data[:after])
        return data[after:]

    def _collected(self, data: str) -> Generator[Message, None, str]:
        """Collect as far as the paste goes; return what is left."""
        come = self._tail + data
        found = come.find(PASTED)
        if found < 0:
            self._tail = _beginning(come, PASTED)
            self._pasted.append(come[: len(come) - len(self._tail)])
            return ""
        self._pasted.append(come[:found])
        text = "".join(self._pasted)
        self._pasted.clear()
        self._tail = ""
        self._pasting = False
        for event in super().feed(PASTED):
            if not isinstance(event, events.Paste):  # an empty one: it saw nothing
                yield event
        yield events.Paste(text)
        return come[found + len(PASTED) :]

    def _is_burst(self, data: str) -> bool:
        if self._pasting or self._tail or not _TEXT_ONLY.fullmatch(data):
            return False
        now = self._clock()
        goes_on = now < self._burst_until
        line_inside = len(data) >= BURST and _LINE_INSIDE.search(data) is not None
        if not (goes_on or line_inside or len(data) >= LONG_BURST):
            return False
        self._burst_until = now + BURST_GOES_ON
        return True

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence == "\x1b\r":
            return [events.Key("alt+enter", None)]
        if match := _OTHER_KEY.fullmatch(sequence):
            return self._other_key(int(match[1]), int(match[2]))
        return super()._sequence_to_key_events(sequence, alt)

    def _other_key(self, modifiers: int, code: int) -> Iterable[events.Key]:
        character = chr(code) if code < 0x110000 else ""
        if not character:
            return []
        if modifiers <= _SHIFT and character.isprintable():
            return super()._sequence_to_key_events(character)
        return super()._sequence_to_key_events(f"\x1b[{ord(character.lower()[0])};{modifiers}u")


def _beginning(text: str, marker: str) -> str:
    """Return the end of `text` that may be the beginning of `marker`."""
    start = text.rfind("\x1b", -len(marker) + 1)
    return text[start:] if start >= 0 and marker.startswith(text[start:]) else ""
