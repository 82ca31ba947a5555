"""The blanks of a snippet in the composer: Tab, choices, one blank in several places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from tests.ui.areas.chat.test_composer import Stage
from tui_chat.ui.areas.chat.composer import Composer

REVIEW = (
    "Review ",
    ("lang", "Python", ("Python",)),
    " in a ",
    ("tone", "dry", ("dry", "warm", "wild")),
    " tone.\nUse ",
    ("lang", "Python", ("Python",)),
    ": ",
    ("what", "{{?what}}", ()),
)


@asynccontextmanager
async def stage(text: str = "") -> AsyncIterator[tuple[Pilot[None], Composer]]:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        composer.text = text
        composer.insert_snippet(REVIEW)
        await pilot.pause()
        yield pilot, composer


async def test_tab_goes_from_blank_to_blank() -> None:
    async with stage() as (pilot, composer):
        assert composer.text == "Review Python in a dry tone.\nUse Python: {{?what}}"
        assert composer.selected_text == "Python"
        await pilot.press(*"Rust", "tab")
        assert composer.selected_text == "dry"
        await pilot.press("tab")
        assert composer.selected_text == "Rust"
        await pilot.press("tab", *"main.rs")
        assert composer.text == "Review Rust in a dry tone.\nUse Rust: main.rs"
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        assert composer.selected_text == "Rust"
        await pilot.press("shift+tab")
        assert composer.selected_text == "Rust", "before the first there is none"
        await pilot.press("tab", "tab", "tab", "tab")
        assert not composer.blanks
        assert composer.cursor_location == composer.document.end
        await pilot.press("tab")
        assert not composer.has_focus


async def test_equal_names_change_together_and_edits_elsewhere_move_them() -> None:
    async with stage("Hello. ") as (pilot, composer):
        await pilot.press("backspace", *"C")
        assert composer.text == "Hello. Review C in a dry tone.\nUse C: {{?what}}"
        composer.insert("> ", (0, 0))
        composer.insert("well, ", (1, 0))
        await pilot.press("tab", "tab", *"++")
        assert composer.text == "> Hello. Review ++ in a dry tone.\nwell, Use ++: {{?what}}"
        await pilot.press("tab")
        assert composer.selected_text == "{{?what}}"


async def test_one_of_several_is_chosen_with_the_arrows() -> None:
    async with stage() as (pilot, composer):
        await pilot.press("tab", "down")
        assert composer.selected_text == "warm"
        await pilot.press("down", "down")
        assert composer.selected_text == "dry"
        await pilot.press("up")
        assert composer.selected_text == "wild"
        await pilot.press(*"calm", "down")
        assert composer.selected_text == "dry"


async def test_esc_undo_and_a_cut_leave_the_blanks() -> None:
    async with stage() as (pilot, composer):
        await pilot.press("escape")
        assert not composer.blanks
        await pilot.press("tab")
        assert not composer.has_focus
    async with stage() as (pilot, composer):
        await pilot.press("x")
        composer.undo()
        assert not composer.blanks
    async with stage() as (pilot, composer):
        composer.delete((0, 9), (1, 6))
        assert len(composer.blanks.spans(0)) == 1
        await pilot.press("tab")
        assert composer.selected_text == "{{?what}}"
    async with stage() as (pilot, composer):
        composer.clear_text()
        assert not composer.blanks


async def test_a_paste_makes_no_blank() -> None:
    async with Stage().run_test() as pilot:
        composer = pilot.app.query_one(Composer)
        composer.insert_text("{{?what}}")
        assert not composer.blanks
        composer.insert_snippet(("No blanks\nhere.",))
        assert composer.text == "{{?what}}No blanks\nhere."
        assert not composer.blanks


async def test_blanks_are_underlined() -> None:
    async with stage() as (_, composer):
        assert composer.blanks.spans(0) == [(7, 13), (19, 22)]
        assert composer.blanks.spans(1) == [(4, 10), (12, 21)]
        styles = [str(span.style) for span in composer.get_line(0).spans]
        assert sum("underline" in style for style in styles) == 2
