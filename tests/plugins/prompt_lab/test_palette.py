"""The words under which people look for the prompt lab."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened
from tests.support.palette import offered
from tui_chat.ui.commands import complete_command
from tui_chat.ui.palette import match_score

WORDS = ("prompt lab", "judge", "golden", "eval", "cases")


async def test_its_words_put_the_cases_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        verbs = offered(await opened(pilot))
        for words in WORDS:
            best = max(verbs, key=lambda verb, words=words: match_score(verb, words))
            assert best.title.startswith("Cases: "), words
            assert "try-cases" in {each.id for each in complete_command(words.replace(" ", "-"))}
