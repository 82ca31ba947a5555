"""A walk with random keys over the real screen: nothing crashes, and the draft has only what was
typed while the message box had the focus.

`python -m tests.app.test_random_keys KEYS SEED WIDTH HEIGHT` walks longer.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path
from string import ascii_letters, digits, punctuation

import pytest
from textual.widgets import TextArea

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text

CHARACTERS = (*ascii_letters, *digits, *punctuation, " ")
OTHERS = (
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "shift+tab"),
    *("escape", "escape", "f1", "f2", "f3", "f4", "f11", "backspace", "delete", "ctrl+f", "ctrl+k"),
    *("ctrl+p", "ctrl+o", "alt+left", "alt+right", "ctrl+home", "ctrl+end", "ctrl+pagedown"),
)
"""Without keys that leave the program, and without Enter, which runs whatever is chosen."""


def message_box(screen: Screen) -> TextArea | None:
    """Return the message box of the screen on top; None below a dialog."""
    found = screen.app.screen.query("Composer")
    return found.first(TextArea) if found else None


async def walk(screen: Screen, dice: random.Random, count: int) -> list[str]:
    """Press keys; return what is wrong."""
    wrong: list[str] = []
    for number in range(count):
        key = dice.choice(CHARACTERS if dice.random() < 0.7 else OTHERS)
        box = message_box(screen)
        before = box.text if box is not None else ""
        focused = screen.app.focused
        await screen.press("space" if key == " " else key)
        if number % 10 == 0:
            await screen.rests()
        if box is None or focused is box:
            continue
        after = box.text
        if sorted(after) == sorted(before + key):  # not the draft of another session
            wrong.append(f"{number}: {key} in {type(focused).__name__}: {before!r} → {after!r}")
        if screen.app.return_code:
            wrong.append(f"{number}: {key} ended the program")
            break
    return wrong


@pytest.mark.parametrize(("size", "seed"), [((160, 45), 1), ((120, 35), 2), ((80, 24), 3)], ids=str)
async def test_random_keys(tmp_path: Path, size: tuple[int, int], seed: int) -> None:
    with Provider(*[chat_text("Good morning.", " `code`")] * 100) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=size) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            wrong = await walk(screen, random.Random(seed), 100)
    assert not wrong, "\n".join(wrong)


async def _walk_long(count: int, seed: int, size: tuple[int, int]) -> None:
    folder = Path(tempfile.mkdtemp())
    with Provider(*[chat_text("Good morning.", " `code`")] * count) as provider:
        async with open_screen(folder, config=provider.config(), size=size) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            wrong = await walk(screen, random.Random(seed), count)
            print(f"{count} keys at {size}, seed {seed}: {len(wrong)} wrong")
            print("\n".join(wrong[:20]))


if __name__ == "__main__":
    keys, seed, width, height = map(int, sys.argv[1:])
    asyncio.run(_walk_long(keys, seed, (width, height)))
