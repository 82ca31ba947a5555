"""The words under which people look for the prompt lab."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened
from tui_chat.ui.command_palette import match_score
from tui_chat.ui.slash_commands import complete_command

WORDS = ("prompt lab", "judge", "golden", "eval", "cases")


async def test_its_words_put_the_cases_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        entries = list((await opened(pilot)).action_index.palette_entries())
        for words in WORDS:
            best = max(entries, key=lambda entry, words=words: match_score(entry, words))
            assert best.title.startswith("Cases: "), words
            assert "try-cases" in {each.name for each in complete_command(words.replace(" ", "-"))}
