"""Notices to the desktop: well-formed, harmless."""

from __future__ import annotations

from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.terminal.clipboard_and_notifications import (
    Notify,
    describe_ending,
    notification_sequence,
)


@each_row(
    ("how", "written"),
    [
        ("osc9", "\x1b]9;tui-chat: done\x07\x07"),
        ("osc777", "\x1b]777;notify;tui-chat;done\x07\x07"),
        ("bell", "\x07"),
        ("off", ""),
    ],
)
def test_the_escape_sequence_of_each_terminal(how: Notify, written: str):
    assert notification_sequence(how, "tui-chat", "done") == written


def test_hostile_text_in_a_notification_is_harmless():
    written = notification_sequence("osc777", "a;b\x07\x1b]0;x", "c\x1b\\\x9d\n" + "d" * 500)
    assert written.count("\x1b") == 1
    assert written.count("\x07") == 2
    assert written.count(";") == 3
    assert len(written) < 250


CALL = CallBlock("c1", "weather", "{}")


@each_row(
    ("entry", "words"),
    [
        (
            Entry(Message.of("assistant", "# Title\n\n> quoted **words**")),
            "Title\n\nquoted **words**",
        ),
        (Entry(Message.of("assistant", "```py\nx = -1\n- y")), "x = -1\ny"),
        (
            Entry(
                Message.of("assistant", "half of it"), status="failed", error="No server answers."
            ),
            "The reply failed: No server answers.",
        ),
        (
            Entry(make_message("assistant", "Let me look.", tool_calls=(CALL, CALL))),
            "The reply calls weather.",
        ),
        (Entry(Message.of("assistant", ""), status="stopped"), "stopped"),
    ],
)
def test_a_notification_says_how_the_reply_ended(entry: Entry, words: str):
    assert describe_ending(entry) == words
