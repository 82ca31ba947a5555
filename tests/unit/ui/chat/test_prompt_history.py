"""Earlier texts come back with the arrow keys, and what was being typed with them."""

from __future__ import annotations

from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.chat.prompt_history import PromptHistory


def entries(*texts: str) -> tuple[Entry, ...]:
    """User and assistant in turn."""
    roles = ("user", "assistant")
    return tuple(Entry(Message.of(roles[at % 2], text)) for at, text in enumerate(texts))


def walked(past: PromptHistory, count: int) -> list[str | None]:
    """Go back so many steps, then to the draft again; return the texts on the way back."""
    texts = [past.step(-1, "draft") for _ in range(count)]
    while past.is_browsing:
        last = past.step(1, "")
    assert count == 0 or last == "draft"
    return texts


def test_what_else_was_sent_comes_after_the_branch():
    past = PromptHistory()
    past.recall(("theirs", "one"))
    past.show((), "there")
    past.remember("sent there")
    past.show(entries("one", "reply", "two"), "here")
    assert walked(past, 5) == ["two", "one", "sent there", "theirs", None]


def test_another_session_begins_from_its_draft():
    past = PromptHistory()
    past.show(entries("one"), "here")
    assert past.step(-1, "") == "one"
    past.show(entries("other"), "there")
    assert not past.is_browsing
    assert past.step(-1, "") == "other"


def test_a_branch_that_goes_on_leaves_the_shown_text_and_the_draft():
    past = PromptHistory()
    past.show(entries("one", "reply", "two"), "here")
    assert [past.step(-1, "draft"), past.step(-1, "")] == ["two", "one"]
    past.show(entries("one", "reply", "two", "reply"), "here")
    assert [past.step(1, ""), past.step(1, "")] == ["two", "draft"]
