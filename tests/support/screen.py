"""The real app in a terminal of a given size: keys go in, and the text of the screen comes out.

It is wired as `tui-chat` wires it, over a folder with a `config.toml`; a test knows only keys,
words on the screen, and files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.pilot import Pilot

from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.transcript import Transcript


class Screen:
    """What a person sees and does."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    @property
    def app(self) -> App[None]:
        """The app, for what Textual itself makes public."""
        return self._pilot.app

    @property
    def lines(self) -> list[str]:
        """The screen's rows as text, without blanks at their ends.

        Textual's public way to the same is an SVG picture, which takes a hundred times as long.
        """
        strips = self.app.screen._compositor.render_strips()
        return [strip.text.rstrip() for strip in strips]

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        """Press keys by Textual's names (`enter`, `ctrl+n`), one after the other."""
        await self._pilot.press(*keys)

    def press_at_once(self, *keys: tuple[str, str | None]) -> None:
        """Press keys, each with its character or None, without a moment between them."""
        for key, character in keys:
            self.app.post_message(events.Key(key, character))

    async def type(self, text: str) -> None:
        """Type a text, character by character."""
        await self._pilot.press(*text)

    def place(self, words: str) -> tuple[int, int]:
        """Return the column and the row where these words begin, the first ones on the screen."""
        for row, line in enumerate(self.lines):
            if words in line:
                return cell_len(line.partition(words)[0]), row
        raise AssertionError(f"no {words!r} on the screen:\n{self.text}")

    async def click_on(self, words: str, *, times: int = 1, control: bool = False) -> None:
        """Click on the first place where the screen has these words."""
        await self.sees(words)
        x, y = self.place(words)
        widget, region = self.app.get_widget_at(x, y)
        offset = x - region.x, y - region.y
        await self._pilot.click(widget, offset=offset, times=times, control=control)

    async def drag(self, first: str, last: str = "", *, to: tuple[int, int] | None = None) -> None:
        """Drag from the begin of some words to the end of others, or to a place."""
        await self.sees(first)
        if to is None:
            x, y = self.place(last)
            to = (x + cell_len(last) - 1, y)
        await self._pilot.mouse_down(offset=self.place(first))
        await self._pilot.hover(offset=to)
        await self._pilot.mouse_up(offset=to)

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        await self._pilot.resize_terminal(width, height)

    async def until(self, true: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
        """Wait until a condition holds; fail with the screen if it does not in time."""
        pause = 0.01  # seconds; drawing the screen to read it takes some milliseconds
        try:
            async with asyncio.timeout(seconds):
                while not true():
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, 0.06)
        except TimeoutError:
            raise AssertionError(f"{what}; the screen is:\n{self.text}") from None

    async def sees(self, *words: str, seconds: float = 20.0) -> None:
        """Wait until the screen has all these words; fail with the screen if it does not."""

        def are_shown() -> bool:
            text = self.text
            return all(each in text for each in words)

        await self.until(
            are_shown,
            f"The screen never had all of {words!r}",
            seconds,
        )

    async def loses(self, words: str, seconds: float = 20.0) -> None:
        """Wait until the screen has these words no more."""
        await self.until(lambda: words not in self.text, f"{words!r} stayed", seconds)

    @property
    def messages(self) -> int:
        """The number of messages of the conversation, also of those out of sight."""
        return len(self.app.screen_stack[0].query_one(Transcript).entries)

    async def has_messages(self, count: int) -> None:
        """Wait until the conversation has so many messages."""
        await self.until(lambda: self.messages == count, f"There were never {count} messages")

    async def rests(self) -> None:
        """Wait until the app has done what it was given and drawn it."""
        await self._pilot.pause()

    def lines_with(self, words: str) -> list[str]:
        """Return the rows that have these words."""
        return [line for line in self.lines if words in line]


@asynccontextmanager
async def open_screen(
    folder: Path,
    *,
    config: str = "",
    size: tuple[int, int] = (160, 45),
    waits: Iterable[str] = ("Enter",),
) -> AsyncGenerator[Screen]:
    """Start the app over `folder`, the home of both its configuration and its data, at a size in
    columns and rows, and wait until the screen has `waits`. An existing `config.toml` stays where
    `config` is empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if config:
        (folder / "config.toml").write_text(config, encoding="utf-8")
    common = CommonOptions(data_dir=folder, config_dir=folder)
    read = common.config()
    app = TuiChat(
        read, lambda: open_workspace(read, read_config=common.config), environ=dict(os.environ)
    )
    async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
        screen = Screen(pilot)
        await screen.sees(*waits)
        yield screen
