"""The formats of other programs are detected from their content."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.exports import block, chatgpt, claude, claude_message, node
from tests.support.reading import only, read, said
from tui_chat import hooks
from tui_chat.plugins.transcripts.reader import known_formats


@pytest.mark.parametrize(
    "file",
    [
        chatgpt(node("q", None, "user", "Hi"), node("a", "q", "assistant", "Hello")),
        {"conversations": [claude(claude_message("1", "human", block("Hi")),
                                  claude_message("2", "assistant", block("Hello")))]},
    ],
)  # fmt: skip
def test_known_formats_are_detected(file: object):
    assert said(only(file)) == [("user", "Hi"), ("assistant", "Hello")]


def test_formats_may_be_mixed():
    both = [chatgpt(node("q", None, "user", "a")), claude(claude_message("1", "human", text="b"))]
    assert [each.transcript is not None for each in read(both)] == [True, True]


def test_what_is_beside_conversations_is_passed_over():
    account = {"uuid": "a", "email_address": "kim@example.org"}
    assert [each.ignored for each in read([account])] == [True]


def test_without_the_plugin_its_formats_are_unknown(monkeypatch: pytest.MonkeyPatch):
    assert "Codex's rollouts" in known_formats()
    left = tuple(each for each in hooks.plugins() if each.name != "transcripts")
    monkeypatch.setattr(hooks, "built_in_plugins", lambda: left)
    talk = chatgpt(node("q", None, "user", "Hi"))
    [found] = read([talk])
    assert found.fault == "is not a conversation of a known format"
    assert "Known formats: " in found.advice
    assert "Codex's rollouts" not in found.advice


@pytest.mark.slow
def test_the_app_starts_without_a_reader():
    program = (
        "import sys, tui_chat.cli.app, tui_chat.ui.app, tui_chat.workspace.workspace\n"
        "print([name for name in sys.modules if name.startswith('tui_chat.plugins.transcripts.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
