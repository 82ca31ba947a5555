"""Earlier texts come back with the arrow keys, and what was being typed with them."""

from __future__ import annotations

import pytest

from tests.ui.test_composer import Stage
from tui_chat.model.message import Message
from tui_chat.model.session import Entry
from tui_chat.ui.chat.past import Past

pytestmark = pytest.mark.usefixtures("undrawn")


def entries(*texts: str) -> tuple[Entry, ...]:
    """User and assistant in turn."""
    roles = ("user", "assistant")
    return tuple(Entry(Message(roles[at % 2], text)) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["up"], "second\nhas two lines"),
        (["up", "up"], "second\nhas two lines"),  # to its first line first
        (["up", "up", "up"], "first"),
        (["up", "up", "up", "up", "up"], "first"),
        (["up", "up", "up", "down"], "second\nhas two lines"),
        (["up", "down"], "draft"),
        (["down"], "draft"),
        (["up", "!", "up", "up", "down", "down"], "second\nhas two lines!"),
        (["up", "ctrl+z"], "draft"),
    ],
)
async def test_up_and_down(keys: list[str], shown: str) -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.past.show(entries("first", "reply", "second\nhas two lines", "reply"))
        await pilot.press(*"draft", *keys)
        assert app.composer.text == shown
        assert app.sent() == []


def test_what_was_sent_in_this_run_comes_after_the_branch_and_once():
    past = Past()
    past.show(entries("one", "reply", "two"))
    past.said("two")
    past.said("/model")
    past.said("/model")
    steps = [past.step(-1, "draft") for _ in range(4)]
    assert steps == ["/model", "two", "one", None]
    assert [past.step(1, "") for _ in range(4)] == ["two", "/model", "draft", None]


def test_another_branch_begins_from_its_draft():
    past = Past()
    past.show(entries("one"))
    assert past.step(-1, "") == "one"
    past.show(entries("other"))
    assert not past.is_walking
    assert past.step(-1, "") == "other"
