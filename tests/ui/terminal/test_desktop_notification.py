"""Notices to the desktop: well-formed, harmless, through tmux too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.ui.app_under_test import make_app, opened, replied
from tests.ui.terminal.test_clipboard import program
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.session import Entry
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.terminal.clipboard_and_notifications import (
    Notify,
    describe_ending,
    is_hidden_in_tmux,
    notification_sequence,
)


@pytest.mark.parametrize(
    ("how", "environ", "written"),
    [
        ("osc9", {}, "\x1b]9;tui-chat: done\x07\x07"),
        ("osc777", {}, "\x1b]777;notify;tui-chat;done\x07\x07"),
        ("osc9", {"TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;tui-chat: done\x07\x1b\\\x07"),
        ("bell", {"TMUX": "x"}, "\x07"),
        ("off", {}, ""),
    ],
)
def test_the_escape_sequence_of_each_terminal(how: Notify, environ: dict[str, str], written: str):
    assert notification_sequence(how, "tui-chat", "done", environ) == written


def test_hostile_text_in_a_notification_is_harmless():
    written = notification_sequence("osc777", "a;b\x07\x1b]0;x", "c\x1b\\\x9d\n" + "d" * 500, {})
    assert written.count("\x1b") == 1
    assert written.count("\x07") == 2
    assert written.count(";") == 3
    assert len(written) < 250


CALL = ToolCall("c1", "weather", "{}")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Entry(Message("assistant", "# Title\n\n> quoted **words**")), "Title\n\nquoted **words**"),
        (Entry(Message("assistant", "```py\nx = -1\n- y")), "x = -1\ny"),
        (
            Entry(Message("assistant", "half of it"), status="failed", error="No server answers."),
            "The reply failed: No server answers.",
        ),
        (
            Entry(Message("assistant", "Let me look.", tool_calls=(CALL, CALL))),
            "The reply calls weather.",
        ),
        (Entry(Message("assistant", ""), status="stopped"), "stopped"),
    ],
)
def test_a_notification_says_how_the_reply_ended(entry: Entry, words: str):
    assert describe_ending(entry) == words


@pytest.mark.parametrize(
    ("says", "unseen"),
    [
        ("echo 1 1", False),
        ("echo 0 1", True),
        ("echo 1 0", True),
        ("echo 0 1; exit 1", False),
        ("echo", False),
    ],
)
def test_tmux_reports_whether_the_window_is_visible(says: str, unseen: bool, tmp_path: Path):
    program(tmp_path, "tmux", f'[ "$4" = "%7" ] || exit 1\n{says}')
    environ = {"TMUX": "x", "TMUX_PANE": "%7", "PATH": f"{tmp_path}:/bin:/usr/bin"}
    assert is_hidden_in_tmux(environ) is unseen
    assert not is_hidden_in_tmux(environ | {"TMUX": ""})


@pytest.mark.parametrize(
    ("away", "seconds", "is_temporary", "texts"),
    [
        (True, 60, False, ["hello"]),
        (False, 60, False, []),
        (True, 1, False, []),
        (True, 60, True, ["The reply has ended."]),
    ],
)
async def test_a_long_reply_notifies_an_absent_user(
    away: bool,
    seconds: int,
    is_temporary: bool,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    app = make_app(tmp_path, model="echo")
    told: list[str] = []

    def sequence(how: str, title: str, text: str, environ: Mapping[str, str]) -> str:
        told.append(text)
        return ""

    module = "tui_chat.ui.terminal.clipboard_and_notifications"
    monkeypatch.setattr(f"{module}.notification_sequence", sequence)
    monkeypatch.setattr(f"{module}.LONG_REPLY", 2 if seconds < 2 else 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        if is_temporary:
            await app.workspace.sessions.new_temporary()
            await app.chat.drafts.restore()
        app.app_focus = not away
        app.query_one(Composer).text = "hello"
        app.query_one(Composer).action_submit()  # a key would bring the focus back
        await replied(pilot)
        await app.workers.wait_for_complete(
            [each for each in app.workers if each.group == "notice"]
        )
        assert told == texts
