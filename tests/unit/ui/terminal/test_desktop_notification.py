"""Notices to the desktop: well-formed, harmless."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.ui.terminal.clipboard_and_notifications import (
    Notify,
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
