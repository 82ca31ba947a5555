"""What keys do where the focus is: they act or say that they do nothing, and are text in fields."""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters

from textual.widgets import TextArea

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row

SIZES = [(160, 45), (120, 35), (80, 24)]
MOVES = "jkJKgGhl"
"""Keys that move a cursor, if only its color, and need not say that it is at the end."""
PANES = {"conversation": "shift+tab", "sessions": "f2", "preset": "f3", "inspector": "f4"}


def draft(screen: Screen) -> str:
    """Return what is typed in the message box."""
    return screen.app.query_one("Composer", TextArea).text


async def go_to(screen: Screen, pane: str) -> None:
    """Give a pane the focus, from the message box."""
    screen.app.query_one("Composer").focus()
    await screen.rests()
    await screen.press(PANES[pane])
    await screen.until(lambda: not isinstance(screen.app.focused, TextArea), f"{pane} has no focus")
    await screen.rests()


async def changes(screen: Screen, before: str) -> bool:
    """Return True if the screen becomes another than it was before."""
    try:
        await screen.until(lambda: screen.text != before, "no change", seconds=1.5)
    except AssertionError:
        return False
    return True


async def pressed(screen: Screen, pane: str, *keys: str) -> list[str]:
    """Press keys in a pane; return what is wrong with them."""
    wrong: list[str] = []
    await go_to(screen, pane)
    place, previous = screen.app.focused, "nothing"
    for key in keys:
        if screen.app.focused is not place:
            await go_to(screen, pane)
            place = screen.app.focused
        fill = "%" if key != "%" else "&"
        if f"{previous} does nothing here." not in screen.text:
            await screen.press("j", "k", fill)  # what is said next is not on the screen already
            await screen.sees(f"{fill} does nothing here.")
        before, previous = screen.text, key
        await screen.press(key)
        if draft(screen):
            wrong.append(f"{pane}: {key} is text: {draft(screen)!r}")
            screen.app.query_one("Composer", TextArea).text = ""
        if key not in MOVES and not await changes(screen, before):
            wrong.append(f"{pane}: {key} does nothing, and does not say so")
        await leave_dialogs(screen)
        await screen.until(
            lambda: all(each.is_finished for each in screen.app.workers), f"{key} goes on and on"
        )
    return wrong


async def leave_dialogs(screen: Screen) -> None:
    """Leave dialogs, and the form that takes the place of the preset's list."""
    while len(screen.app.screen_stack) > 1 or screen.app.query("PresetPane.-form"):
        await screen.press("escape")
        await screen.rests()


CHARACTERS = (*ascii_letters, *"0129<>/?+=[]%", "space")


@each_row("pane", PANES)
async def test_every_character_acts_or_says_that_it_does_not_and_is_never_text(
    tmp_path: Path, pane: str
) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 45)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            wrong = await pressed(screen, pane, *CHARACTERS)
    assert not wrong, "\n".join(wrong)


async def test_so_do_the_keys_of_panes_in_which_there_is_nothing(tmp_path: Path) -> None:
    wrong: list[str] = []
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 45)) as screen:
            wrong += await pressed(
                screen, "conversation", *"yYcCrefdtnNWoEvsSupmMiwaxlb+<>", "space"
            )
            wrong += await pressed(screen, "sessions", *"apref/tdu", "space")
            for pane in PANES:
                await go_to(screen, pane)
                await screen.press(
                    "pageup", "pagedown", "home", "end", "up", "down", "left", "right"
                )
            wrong += await pressed(screen, "inspector", *"nNueadm", "space")
            wrong += await pressed(screen, "preset", *"uUddddYyweJKos", "space")
    assert not wrong, "\n".join(wrong)


async def test_a_capital_acts_like_its_small_letter_and_keeps_the_zoom(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.press("f4", "f11", "O")
            await screen.loses("stream_options")
            await screen.loses("Type a message")
            await screen.press("Q")
            await screen.sees("Q does nothing here. F1 lists the keys.")
            assert "Type a message" not in screen.text
            await screen.press("f11", "f3", "S")
            await screen.sees("System messages")
            assert draft(screen) == ""


async def test_a_capital_that_is_another_key_stays_that_key(tmp_path: Path) -> None:
    """`y` copies a message, `Y` its code; beside a view that is not the request, `a` compares
    nothing, and must not be taken for another view's `A`.
    """
    with Provider(chat_text("Good morning."), chat_text(" And good luck.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("shift+tab", "Y")
            await screen.sees("There is no code block in this message.")
            assert len(provider.bodies) == 1
            await screen.press("c")
            await screen.until(lambda: len(provider.bodies) == 2, "nothing was continued")
