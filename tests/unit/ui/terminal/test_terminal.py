"""What is written to the terminal and handed to programs: clipboard, notices, driver."""

from __future__ import annotations

import webbrowser
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.ui.terminal.clipboard_and_notifications import (
    Notify,
    copy_commands,
    copy_with_command,
    notification_sequence,
)
from tui_chat.ui.terminal.driver import TerminalDriver
from tui_chat.ui.terminal.external_programs import editor_command, open_link


@each_row(
    ("environ", "platform", "programs"),
    [
        ({}, "linux", ""),
        ({"DISPLAY": ":0"}, "linux", "xclip xsel"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "linux", "wl-copy xclip xsel"),
        ({}, "darwin", "pbcopy"),
        ({"SSH_TTY": "/dev/pts/1", "DISPLAY": ":10"}, "linux", ""),
        ({"SSH_CONNECTION": "a 1 b 2"}, "darwin", ""),
        ({"SSH_TTY": "x", "TMUX": "y", "DISPLAY": ":0"}, "linux", "tmux tmux"),
        ({"WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"}, "linux", "clip.exe xclip xsel"),
        ({}, "win32", "clip.exe"),
    ],
)
def test_which_clipboards_are_tried(environ: dict[str, str], platform: str, programs: str):
    assert " ".join(command[0] for command in copy_commands(environ, platform)) == programs


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_text_is_copied_whole_also_by_an_older_tmux(tmp_path: Path):
    got = tmp_path / "got"
    environ = {"TMUX": "x", "PATH": f"{tmp_path}:/bin:/usr/bin"}
    program(
        tmp_path, "tmux", f'[ "$2" = "-w" ] && exit 1\necho noise; echo "$@" >{got}; cat >>{got}'
    )
    assert copy_with_command("two\nlines, 漢字 \x1b[31m", environ)
    assert got.read_text() == "load-buffer -\ntwo\nlines, 漢字 \x1b[31m"


def test_windows_gets_its_own_encoding(tmp_path: Path):
    got = tmp_path / "got"
    environ = {"WSL_DISTRO_NAME": "Debian", "PATH": f"{tmp_path}:/bin:/usr/bin"}
    program(tmp_path, "clip.exe", f"cat >{got}")
    assert copy_with_command("漢字 é", environ)
    assert got.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff")
    assert got.read_text("utf-16") == "漢字 é"


def test_no_clipboard_accepts_the_text(tmp_path: Path):
    assert not copy_with_command("words", {"TMUX": "x", "PATH": str(tmp_path)})


@each_row(
    ("name", "script", "opens"),
    [("my-browser", 'echo "$@" >{}', True), ("my-browser", "exit 3", False), ("w3m", "", False)],
)
def test_a_graphical_browser_is_started(
    name: str, script: str, opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    got = tmp_path / "got"
    named = program(tmp_path, name, script.format(got))
    browser = webbrowser.GenericBrowser([str(named), "--new", "%s"])
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    assert open_link("https://example.org/?a=b c") is opens
    if opens:
        assert got.read_text() == "--new https://example.org/?a=b c\n"


def test_no_terminal_browser_is_started(monkeypatch: pytest.MonkeyPatch):
    def started(*_: object) -> bool:
        raise AssertionError

    browser = webbrowser.Elinks("elinks")  # of Python's own, which gives it our terminal
    monkeypatch.setattr(browser, "_invoke", started)
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    assert not open_link("https://example.org")


def test_a_missing_browser_is_reported(monkeypatch: pytest.MonkeyPatch):
    def none() -> webbrowser.BaseBrowser:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert not open_link("https://example.org")


# --- Notices to the desktop: well-formed, harmless ----------------------------------------


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


# --- The driver of Unix terminals: what is written while another program has the terminal -


async def test_what_is_written_after_the_terminal_was_given_back_blocks_nothing() -> None:
    driver = TerminalDriver(App[None]())
    shown = StringIO()
    driver._writer_thread = WriterThread(shown)
    driver._writer_thread.start()
    driver.write("before")
    driver.close()
    writing = Thread(target=lambda: [driver.write("x") for _ in range(100)], daemon=True)
    writing.start()
    writing.join(5)
    assert not writing.is_alive()
    assert shown.getvalue() == "before"


# --- Which editor opens a draft -----------------------------------------------------------


@each_row(
    ("environ", "platform", "command"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, "linux", ["code", "--wait"]),
        ({"EDITOR": "'my editor' -x"}, "linux", ["my editor", "-x"]),
        ({"EDITOR": ""}, "win32", ["notepad"]),
        ({"EDITOR": r'"C:\Program Files\ed.exe" -w'}, "win32", [r"C:\Program Files\ed.exe", "-w"]),
    ],
)
def test_the_named_editor(environ: dict[str, str], platform: str, command: list[str]):
    assert editor_command(environ, platform) == command


def test_the_systems_editor(tmp_path: Path):
    environ = {"PATH": str(tmp_path)}
    assert editor_command(environ, "linux") == ["vi"]
    program(tmp_path, "nano", "")
    assert editor_command(environ, "linux") == ["nano"]
    program(tmp_path, "editor", "")
    assert editor_command(environ, "linux") == ["editor"]


@pytest.mark.parametrize("named", ["'", "  "])
def test_no_command(named: str):
    with pytest.raises(InputError, match="EDITOR"):
        editor_command({"EDITOR": named}, "linux")
