"""A click, a key and a hint are about what the screen shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import open_screen


async def test_a_click_to_read_leaves_the_focus_in_the_message_box(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.type("Hello")
        await screen.press("enter")
        await screen.has_messages(2)
        await screen.click_on("Totals")
        await screen.type("delete nothing")
        await screen.sees("│ delete nothing")
        await screen.click_on('stream_options": {')  # in the body
        await screen.type(" at all")
        await screen.sees("│ delete nothing at all")
        assert screen.messages == 2
        await screen.click_on("Hello")  # the title takes the focus
        await screen.sees("e edit")


async def test_a_new_session_keeps_its_role_and_a_session_is_found_by_its_words(tmp_path: Path):
    (tmp_path / "roles").mkdir()
    for name in ("Sailor", "Cook"):
        text = json.dumps({"name": name, "systemPrompt": f"You are a {name}."})
        (tmp_path / "roles" / f"{name}.json").write_text(text)
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        for first in ("Tea advice", "Other things"):
            await screen.press("ctrl+n")
            await screen.type(first)
            await screen.press("enter")
            await screen.has_messages(2)
        await screen.type("/go advice")
        await screen.press("enter")
        await screen.until(lambda: "Tea advice" in screen.lines[0], "It was not opened")
        await screen.type("/go e")  # both
        await screen.press("enter")
        await screen.sees("Go to session", "Other things")
        await screen.press("escape")
        for name in ("Cook", "Sailor"):  # one of them was used last
            await screen.press("ctrl+n")
            await screen.type(f"/role {name}")
            await screen.press("enter")
            await screen.sees(f"· {name} ·")
            await screen.press("ctrl+n")
            await screen.rests()
            await screen.sees(f"· {name} ·")


async def test_a_model_that_is_not_listed_is_used_as_it_is_typed(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("ctrl+o")
        await screen.sees("Switch model")
        await screen.type("lorem:100:100")
        await screen.sees("Use “lorem:100:100”")
        await screen.press("enter")
        await screen.sees("─ lorem:100:100 ·")


async def test_the_line_under_a_view_is_about_its_row(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.type("Hello")
        await screen.press("enter")
        await screen.has_messages(2)
        await screen.press("f4", "right", "right")
        await screen.sees("against")
        await screen.press("home")
        await screen.sees("Enter compares with something else.")
        await screen.press("right")
        await screen.sees("framing")
        await screen.loses("Enter compares with something else.")


async def test_the_form_keeps_the_focus_from_message_to_message(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f3")
        await screen.sees("Preset plain")
        await screen.press("home", "enter")
        await screen.sees("Ctrl+↓ next")
        for _ in range(3):
            await screen.press("ctrl+down")
            await screen.rests()
        await screen.sees("Ctrl+↓ next")
        await screen.press("escape")
        await screen.loses("Ctrl+↓ next")
        assert "Type a message" in screen.text, "nothing was typed into the draft"


async def test_the_words_found_are_in_sight_below_long_messages(tmp_path: Path):
    async with open_screen(tmp_path, size=(80, 24)) as screen:
        await screen.type("many " * 60 + "words")
        await screen.press("enter")
        await screen.has_messages(2)
        await screen.type("\n".join(("line",) * 3) + " zaffre")
        await screen.press("enter")
        await screen.has_messages(4)
        await screen.press("ctrl+f")
        await screen.type("zaffre from:user")
        await screen.sees("1 found")
        await screen.until(lambda: screen.text.count("zaffre") == 3, "the preview has no hit")
