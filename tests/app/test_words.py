"""The words of the screen: what is shown, and how it is called."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import open_screen

OFFLINE = 'model = "mirror"\n'
ANTHROPIC = (
    'endpoint = "away"\n[endpoints.away]\nprotocol = "anthropic"\n'
    'base_url = "https://api.example.invalid"\nmodels = ["some"]\nkey = "env:NO_SUCH_KEY"\n'
)


async def test_a_request_over_budget_says_by_how_much_and_of_what(tmp_path: Path):
    config = OFFLINE + "[models.mirror]\ncontext_limit = 40\nmax_output = 10\n"
    async with open_screen(tmp_path, config=config) as screen:
        await screen.type("a few words more than there is room for in here")
        await screen.press("f4", "o")
        await screen.sees("Over budget by", "even without", "limit 40 −")
        assert len(screen.lines_with("over the budget of 30")) == 1  # composer


async def test_forms_and_lists_use_the_terms_of_the_field(tmp_path: Path):
    wrong: list[str] = []
    walks = {
        "/tools": (
            "Timeout (seconds)",
            "Description (the model reads it)",
            "Command (leave empty to answer calls yourself)",
            "Parameters (JSON Schema, optional)",
            "Permission",
            "ask first",
        ),
        "/session-tools": ("No tools yet.", "/tools"),
        "/model": ("Enter select · Ctrl+D make default", "Repeats the last user message"),
        "/settings": ("Session settings",),
    }
    async with open_screen(tmp_path, config=OFFLINE) as screen:
        for command, words in walks.items():
            await screen.type(command)
            await screen.press("escape", "enter")
            if command == "/tools":
                await screen.sees("New tool…")
                await screen.press("enter")
            try:
                await screen.sees(*words, seconds=10)
            except AssertionError as error:
                wrong.append(f"{command}: {error}")
            await screen.press("escape", "escape")
    assert not wrong, "\n".join(wrong)


async def test_a_missing_key_names_whose_it_is(tmp_path: Path):
    async with open_screen(tmp_path, config=ANTHROPIC) as screen:
        await screen.type("hello")
        await screen.press("f4")
        await screen.sees("Anthropic requires max_t")
        await screen.press("escape", "enter")
        await screen.sees("No API key for away (NO_SUCH_KEY is not set).")


# --- A click, a key and a hint are about what the screen shows ----------------------------


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


# --- Words that people look for find the command, in the palette and behind a slash -------


LIMITS = (
    *("limit", "token limit", "context limit", "context window", "context size"),
    *("budget", "token budget", "max tokens", "max output tokens", "num_ctx"),
)


async def test_words_for_limits_find_the_settings_of_the_session(tmp_path: Path):
    missed: list[str] = []
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        for words in LIMITS:
            await screen.press("ctrl+p")
            await screen.sees("Type what you want to do")
            await screen.type(words)
            await screen.rests()
            if "Session settings" not in screen.text:
                missed.append(words)
            await screen.press("escape")
            await screen.loses("Esc close")
        for words in ("limit", "budget", "max_tokens"):
            await screen.type(f"/{words}")
            await screen.sees(f"/{words}")
            await screen.rests()
            if "Session settings" not in screen.text:
                missed.append(f"/{words}")
            await screen.press("escape", "ctrl+u")
    assert not missed
