"""A walk with random keys over the real screen: nothing crashes, some widget always has the focus,
and the draft has only what was typed while the message box had it.

`python -m tests.app.test_random_keys KEYS SEED WIDTH HEIGHT` walks longer.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path
from string import ascii_letters, digits, punctuation

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
        if screen.app.focused is None:
            wrong.append(f"{number}: nothing has the focus after {key}")
        if box is None or focused is box:
            continue
        after = box.text
        if sorted(after) == sorted(before + key):  # not the draft of another session
            wrong.append(f"{number}: {key} in {type(focused).__name__}: {before!r} → {after!r}")
        if screen.app.return_code:
            wrong.append(f"{number}: {key} ended the program")
            break
    return wrong


async def test_random_keys(tmp_path: Path) -> None:
    wrong: list[str] = []
    with Provider(*[chat_text("Good morning.", " `code`")] * 100) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            for seed, size in enumerate(((160, 45), (120, 35), (80, 24))):
                await screen.resize(*size)
                wrong += [f"{size}, {each}" for each in await walk(screen, random.Random(seed), 80)]
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
