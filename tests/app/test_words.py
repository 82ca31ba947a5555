"""Sentences of the screen that were misread, as they are now."""

from __future__ import annotations

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
