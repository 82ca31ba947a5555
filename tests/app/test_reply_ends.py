"""What is drawn of a reply is all of it, whenever it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event
from time import monotonic, sleep

from tests.support.screen import open_screen
from tests.support.server import Answer, Provider


def chunk(delta: dict[str, str], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


class Reply:
    """A reply that grows until `after` seconds after a tick of the clock beside it, and ends.
    `ticked` is set at the tick before.
    """

    def __init__(self, key: str, begin: str, line: str, end: str, after: float) -> None:
        self.ticked = Event()
        self.lines = 0
        self._key, self._begin, self._line, self._end = key, begin, line, end
        self._after = after

    def pieces(self) -> Iterator[str]:
        """Yield the stream of the reply, whose `key` gets `begin`, numbered lines, and `end`."""
        yield chunk({self._key: self._begin})
        self.ticked.wait(20)
        end = monotonic() + 1 + self._after
        for number in count(1):
            if monotonic() >= end:
                break
            yield chunk({self._key: self._line.format(number)})
            self.lines = number
            sleep(0.005)
        yield chunk({self._key: self._end})
        yield chunk({}, "stop") + "data: [DONE]\n\n"


async def find_cut_replies(
    folder: Path, make: Callable[[float], Reply], is_whole: Callable[[str, Reply], bool]
) -> list[str]:
    """Return the screens after replies that they do not show whole."""
    cut: list[str] = []
    replies = [make(number / 100) for number in range(5)]
    with Provider(*(Answer(each.pieces()) for each in replies)) as provider:
        async with open_screen(folder, config=provider.config()) as screen:
            for number, reply in enumerate(replies, 1):
                await screen.type(f"message {number}")
                await screen.press("enter")
                await screen.sees(f"{2 * number} messages", "● 1 s")
                reply.ticked.set()
                await screen.loses("Esc stops")
                await screen.rests()
                if not is_whole(screen.text, reply):
                    cut.append(screen.text)
    return cut


async def test_a_text_that_ends_soon_after_a_tick_of_its_clock_is_shown_whole(tmp_path: Path):
    def make(after: float) -> Reply:
        line = "|line {}|**bold** `code` *emphasis*|[link](https://example.org)|\n"
        return Reply("content", "|a|b|c|\n|-|-|-|\n", line, "\nlast line", after)

    def is_whole(text: str, reply: Reply) -> bool:
        shown = [int(each) for each in re.findall(r"│  line (\d+)", text)]
        return shown == [*range(shown[0], reply.lines + 1)] and "│  last line" in text

    cut = await find_cut_replies(tmp_path, make, is_whole)
    assert not cut, "\n\n".join(cut)
