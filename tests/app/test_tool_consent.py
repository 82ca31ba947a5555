"""The question about a tool call in the app: what must be seen before a key runs the tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_calls, chat_text

LONG = json.dumps({"q": "harmless " * 800 + "DANGEROUS TAIL"})


def config(provider: Provider, home: Path) -> str:
    command = json.dumps(["sh", "-c", f"cat >> '{home / 'log'}'; echo done"])
    return provider.config() + f'\n[tools.fmt]\ndescription = "Formats."\ncommand = {command}\n'


async def tries(screen: Screen, key: str, works: Callable[[], bool], times: int) -> bool:
    """Press a key, and again if it did nothing for a while: one that is pressed in haste does."""
    for _ in range(times):
        await screen.press(key)
        try:
            await screen.until(works, "It did nothing", seconds=0.7)
        except AssertionError:
            continue
        return True
    return False


def box(screen: Screen) -> list[str]:
    """Return the lines of the question."""
    rows = (line.partition("▏")[0].rstrip().split("▕")[-1] for line in screen.lines)
    return [row[2:-1].strip() for row in rows if row.startswith(" │") and row.endswith("│")]


async def asked(screen: Screen, words: str) -> None:
    await screen.type("hi")
    await screen.press("enter")
    await screen.sees("fmt is waiting for your answer")
    await screen.press("f8")
    await screen.sees("Run “fmt”? The model asks for it.", words)


async def test_nothing_runs_before_the_end_of_the_arguments_was_seen(tmp_path: Path):
    wrong: list[str] = []
    for number, (size, key) in enumerate(
        [((120, 40), "y"), ((120, 40), "t"), ((120, 40), "a"), ((80, 24), "y"), ((200, 60), "y")]
    ):
        home = tmp_path / str(number)
        with Provider(chat_calls(("fmt", LONG)), chat_text("Fine.")) as provider:
            home.mkdir()
            async with open_screen(home, config=config(provider, home), size=size) as screen:
                await asked(screen, " of ")

                def ran(provider: Provider = provider) -> bool:
                    return len(provider.received) == 2

                shown = box(screen)
                if any("DANGEROUS" in line for line in shown) or "PgDn" not in screen.text:
                    wrong.append(f"{size} {key}: not said that more follows\n{screen.text}")
                if not size[1] * 0.2 < len(shown) < size[1] * 0.4:
                    wrong.append(f"{size} {key}: {len(shown)} rows are shown")
                if await tries(screen, key, ran, 2):
                    wrong.append(f"{size} {key}: a key ran it unseen")
                    continue
                await screen.click_on("run once")
                await screen.rests()
                pages = 0
                while not any("TAIL" in line for line in box(screen)) and pages < 99:
                    await screen.press("pagedown")
                    await screen.rests()
                    pages += 1
                if ran():
                    wrong.append(f"{size} {key}: after {pages} pages\n{screen.text}")
                elif not await tries(screen, key, ran, 5):
                    wrong.append(f"{size} {key}: it does not run at the end\n{screen.text}")
        if (home / "log").exists() and (home / "log").read_text() != LONG:
            wrong.append(f"{size} {key}: ran with {(home / 'log').read_text()[:99]}")
    assert not wrong, "\n".join(wrong)


async def test_the_question_shows_what_runs_where_and_with_what_exactly(tmp_path: Path):
    arguments = '{"a":  "two   blanks", "b": "\u202egnp"}'
    with Provider(chat_calls(("fmt", arguments)), chat_text("Fine.")) as provider:
        async with open_screen(tmp_path, config=config(provider, tmp_path)) as screen:
            await asked(screen, '{"a":  "two   blanks", "b": "\\u202egnp"}')
            flat = "".join(box(screen))
            assert "/sh -c" in flat
            assert str(Path.cwd()) in flat
            assert "PgDn" not in screen.text
