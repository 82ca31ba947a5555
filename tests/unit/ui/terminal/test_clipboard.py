"""What is copied reaches the clipboard where the terminal does not take it, and links a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.ui.terminal.clipboard_and_notifications import copy_commands, copy_with_command
from tui_chat.ui.terminal.external_programs import open_link


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
