"""Lorebooks with any value replaced by any type, as files and in cards: a clear error or a finding,
and a request that can be composed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden
from tests.support.contexts import ENDPOINT
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.settings import AuthorNote
from tui_chat.plugins.sillytavern.card_files import read_card
from tui_chat.plugins.sillytavern.cards import role_of_card
from tui_chat.plugins.sillytavern.lore.timers import with_lore_timers
from tui_chat.plugins.sillytavern.policies import Policies, policy_values
from tui_chat.plugins.sillytavern.world_info import export_lorebook_text

HUGE = "9" * 400
"""A number, as JSON has it, that is too large for a float."""
DEEP = "[" * 2_000 + "]" * 2_000
WRONG = (
    *("null", "true", "-1", "1.5", "1e308", "1e999", "NaN", "-Infinity", HUGE, '""', '"x"', '"3"'),
    *("7" * 5_000, '"\\ud800"', "[]", "{}", '[[], null, {}, 7, "fox"]', '{"a": []}', DEEP),
)
_DATA = golden.read(Path(__file__).parent / "data" / "hostile_lorebooks.json")
WORLD: dict[str, Any] = _DATA["WORLD"]
OURS: dict[str, Any] = _DATA["OURS"]
CARD: dict[str, Any] = _DATA["CARD"]
BODIES = {
    "world info": {"name": "b", "entries": {"0": WORLD, "1": {"key": ["a"], "content": "a fox"}}},
    "list of world info": {"entries": [WORLD]},
    "ours": OURS,
}
HISTORY = tuple(
    Message.of("assistant" if n % 2 else "user", "a fox and Ann", str(n)) for n in range(4)
)
PRESETS = (
    Preset("p"),
    Preset("p", policies=policy_values(Policies(depths="joined", expand_history=True))),
)


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value within a JSON value, and that of the whole."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*path, index))


def mutants(body: Any) -> Iterator[str]:
    """Yield the JSON of a body with each value replaced by some of the wrong ones, in turn."""
    mark = "\x00"
    for number, path in enumerate(paths(body)):
        changed = json.loads(json.dumps(body)) if path else mark
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        if path:
            inner[path[-1]] = mark
        text = json.dumps(changed)
        for wrong in WRONG[number % 5 :: 5]:
            yield text.replace(json.dumps(mark), wrong)


def use(book: Lorebook) -> None:
    """Compose requests with a lorebook, by our rules and by SillyTavern's."""
    for preset in PRESETS:
        settings = SessionSettings(author_note=AuthorNote("note", searched=True))
        inputs = Inputs(ENDPOINT, preset, HISTORY, "a fox", settings=settings, lorebooks=(book,))
        assert compose(with_lore_timers(inputs)).payload.body


@pytest.mark.slow
@each_row("kind", BODIES)
def test_any_value_of_a_lorebook(kind: str):
    for text in mutants(BODIES[kind]):
        found = read_lorebook(text, "book")
        if found.book is None:
            assert any(finding.sentence for finding in found.file.findings())
        else:
            use(found.book)
        with suppress(InputError):
            assert json.loads(export_lorebook_text(text, "x", "x").text)


@pytest.mark.slow
def test_any_value_of_a_lorebook_in_a_card():
    for text in mutants(CARD):
        with suppress(InputError):
            role = role_of_card(read_card(text.encode(), "card"), "r", "card")
            if role.character is not None and role.character.book is not None:
                use(role.character.book)


@each_row("wrong", ["NaN", HUGE, '"3"', "[]", DEEP])
def test_a_wrong_value_is_named(wrong: str):
    text = json.dumps({"entries": {"0": WORLD | {"order": "wrong"}}}).replace('"wrong"', wrong)
    (finding,) = read_lorebook(text, "book").file.findings()
    named = "“order”" in finding.sentence and "ignored" in finding.sentence
    assert named or "is not JSON" in finding.sentence or "nested too deeply" in finding.sentence
    own = json.dumps(OURS | {"scanDepth": "wrong"}).replace('"wrong"', wrong)
    read = read_lorebook(own, "book")
    assert read.file.findings() or (wrong, read.book.scan_depth) == ('"3"', 3)
