"""Sentences of the screen that were misread, as they are now."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text

OFFLINE = 'model = "mirror"\n'
ANTHROPIC = (
    'endpoint = "away"\n[endpoints.away]\nprotocol = "anthropic"\n'
    'base_url = "https://api.example.invalid"\nmodels = ["some"]\nkey = "env:NO_SUCH_KEY"\n'
)


async def test_a_request_over_budget_says_by_how_much_and_of_what(tmp_path: Path):
    config = OFFLINE + "[models.mirror]\ncontext_limit = 40\nmax_output = 10\n"
    async with open_screen(tmp_path, config=config) as screen:
        await screen.type("a few words more than there is room for in here")
        await screen.press("f4", "i")
        await screen.sees("over the budget of 30")
        await screen.sees("Over budget by", "even without", "limit 40 −")
        assert len(screen.lines_with("over the budget of 30")) == 3  # composer, rule and details


async def test_protocols_have_readable_names_where_there_is_little_room(tmp_path: Path):
    async with open_screen(tmp_path, config=OFFLINE) as screen:
        await screen.press("f4")
        await screen.sees("1•OpenAI 2 Respon… 3 Anthro… 4 Gemini 5 Ollama")
        await screen.press("3")
        await screen.sees("max_tokens", "Enter sends")
        await screen.sees("1•OpenAI 2 Respon… 3 Anthro… 4 Gemini 5 Ollama")
        await screen.press("i")
        await screen.sees("message")
        assert " turns" not in screen.text


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


async def test_a_second_session_does_not_make_each_row_two(tmp_path: Path):
    with Provider(chat_text("Yes.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            for words in ("first", "second", "third"):
                await screen.type(words)
                await screen.press("enter")
                await screen.sees("Yes.")
                await screen.press("ctrl+n")
                if words == "first":
                    await screen.type("/role")
                    await screen.press("escape", "enter")
                    await screen.sees("No role")
                    await screen.type("No role")
                    await screen.press("enter")
            await screen.sees("first", "second", "third")


async def test_a_session_of_which_there_is_nothing_to_say_has_one_line(tmp_path: Path):
    with Provider(chat_text("Yes.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            for words in ("first", "second", "third"):
                if words == "third":
                    await screen.type("/role")
                    await screen.press("escape", "enter")
                    await screen.sees("No role")
                    await screen.type("No role")
                    await screen.press("enter")
                await screen.type(words)
                await screen.press("enter")
                await screen.sees("Yes.")
                await screen.press("ctrl+n")
            await screen.until(lambda: "third" in screen.text, "not listed")
            column = [line[:30].rstrip() for line in screen.lines]
            [row] = [row for row, line in enumerate(column) if "third" in line]
            assert "second" in column[row + 1], screen.text
