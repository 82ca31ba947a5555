"""The probabilities of a reply's tokens on the screen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.widgets import Static

from tests.support.app import make_app, opened, say, until
from tests.support.pictures import MEDIUM, Album
from tui_chat.models.token_probabilities import (
    LOWEST,
    TokenAlternative,
    TokenProbability,
    received_token,
)
from tui_chat.plugins.probabilities.dialog import (
    TokenProbabilities,
    TokenView,
    described,
    lay_out,
    summary,
)

QUESTION = "Say that the ferries to Kos leave at nine and at noon, also in winter."


@given(
    st.lists(st.tuples(st.text("ab 好\u0301", min_size=1, max_size=12), st.booleans())),
    st.integers(4, 20),
)
def test_lines_have_every_token_once_and_fit(tokens: list[tuple[str, bool]], width: int):
    lines = lay_out(tokens, width)

    assert "".join(text for line in lines for text in line.texts) == "".join(t for t, _ in tokens)
    assert all(cell_len("".join(line.texts)) <= width for line in lines)
    for line, after in pairwise(lines):  # a token that is cut goes on in the next line
        assert after.first - line.first in (len(line.texts), len(line.texts) - 1)


def test_the_words_of_a_token():
    token = TokenProbability("\x1b[2J", -0.1, (TokenAlternative("\u202e", LOWEST),))
    words = described(token, "Token 1 of 1").plain
    assert "90.48%" in words
    assert "0.00%" in words
    assert not {"\x1b", "\u202e"} & set(words)
    assert "“.↵↵”" in described(TokenProbability(".\n\n", 0.0), "").plain
    assert "/set logprobs" in described(TokenProbability("a", 0.0), "").plain
    tokens = (TokenProbability("a", -1.0), TokenProbability("b", 0.0))
    assert summary(tokens, "ab") == "2 tokens · 1 below 50% · perplexity 1.65"
    assert summary(tokens, "abc").endswith("they are not the whole text of the reply")


async def test_a_reply_token_by_token(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        transcript = app.chat.transcript
        await say(pilot, "No probabilities here.")
        transcript.focus()
        await pilot.press("l")
        await pilot.pause()
        assert len(app.screen_stack) == 1

        app.chat.composer.focus()
        await pilot.press(*"/set logprobs 5", "enter")
        await say(pilot, QUESTION)
        transcript.focus()
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, TokenProbabilities))
        view = app.screen.query_one(TokenView)
        alternatives = app.screen.query_one("#alternatives", Static)
        assert "“Say”" in str(alternatives.render())
        await pilot.press("right")
        assert "“ that”" in str(alternatives.render())
        await album.take(pilot, "token probabilities", MEDIUM)
        await pilot.press("n")
        unsure = view.cursor
        assert unsure > 1
        await pilot.press("end", "N", "home")
        assert view.cursor == 0
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_a_hundred_thousand_tokens_draw_what_is_in_sight(tmp_path: Path) -> None:
    token = received_token(" token", -0.5)
    assert token is not None
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        dialog = TokenProbabilities((token,) * 100_000, " token" * 100_000)
        app.push_screen(dialog)
        await until(pilot, lambda: bool(dialog.query(TokenView)))
        view = dialog.query_one(TokenView)
        await pilot.press("end", "up", "pageup", "down")
        assert 90_000 < view.cursor < 100_000
        await pilot.press("home", "down", "left")
        assert view.cursor == view.scrollable_content_region.width // 6 - 1
