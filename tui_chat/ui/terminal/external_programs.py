"""Other programs: in the terminal until they end, such as the user's editor, or beside it."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any

from textual.app import App, SuspendNotSupported

from tui_chat.errors import InputError
from tui_chat.files import write_private

ENDING_SECONDS = 1.0
"""Seconds that a program has to leave the terminal if the app ends before it."""
_TERMINAL_BROWSERS = frozenset(
    ("www-browser", "links", "links2", "elinks", "lynx", "w3m", "browsh", "carbonyl")
)
BROWSER_SECONDS = 2.0
"""Seconds after which a browser that still runs has opened the link."""


async def run_in_terminal(app: App[Any], command: Sequence[str], *, advice: str = "") -> None:
    """Run a program in place of the app's screen. Replies continue to stream meanwhile.

    Raises InputError, with `advice` if the program cannot be started, also if it fails.
    """
    name = command[0]
    try:
        with app.batch_update(), app.suspend():
            process = await asyncio.create_subprocess_exec(*command)
            try:
                code = await process.wait()
            except asyncio.CancelledError:  # a signal ends the app: the program must leave too
                with suppress(ProcessLookupError):
                    process.terminate()
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), ENDING_SECONDS)
                raise
    except SuspendNotSupported as error:
        raise InputError("No other program can be opened in this terminal.") from error
    except OSError as error:
        raise InputError(f"{name} cannot be started: {error.strerror}.", advice=advice) from error
    if code:
        raise InputError(f"{name} ended with {code}; nothing was changed.")


def editor_command(environ: Mapping[str, str], platform: str = sys.platform) -> list[str]:
    """Return the command in `VISUAL` or `EDITOR`, else the system's editor: Notepad on Windows,
    Debian's `editor`, `nano` or `vi` elsewhere. Raises InputError.
    """
    named = environ.get("VISUAL") or environ.get("EDITOR")
    if not named:
        return [_system_editor(environ, platform)]
    if platform == "win32" and which(named):
        return [named]  # a path with spaces
    try:
        words = shlex.split(named, posix=platform != "win32")
    except ValueError as error:
        raise InputError(f"$EDITOR is not a valid command: {named}: {error}.") from error
    if not words:
        raise InputError("$EDITOR is empty.", advice="Set it to your editor's command.")
    return [word.strip('"') for word in words] if platform == "win32" else words


def _system_editor(environ: Mapping[str, str], platform: str) -> str:
    if platform == "win32":
        return "notepad"
    path = environ.get("PATH", "")
    return next((name for name in ("editor", "nano") if which(name, path=path)), "vi")


async def edit_in_editor(app: App[Any], text: str, name: str = "message.md") -> str:
    """Let the user edit a text in their editor, as a file called `name`; return the edited text.

    Replies continue to stream meanwhile. Raises InputError if the editor cannot be started or
    fails.
    """
    command = editor_command(os.environ)
    with tempfile.TemporaryDirectory(prefix="tui-chat-") as folder:
        path = Path(folder, name)
        write_private(text.encode("utf-8", "replace").decode(), path)
        advice = "Set EDITOR to the command of your editor."
        await run_in_terminal(app, (*command, str(path)), advice=advice)
        left = path.read_text(encoding="utf-8", errors="replace")  # noqa: ASYNC240 - a small file
    return left.removesuffix("\n") if not text.endswith("\n") else left


def open_link(url: str) -> bool:
    """Open a link in a graphical browser; blocks for a moment. Return False if none could open it.

    `webbrowser` finds the browser, but lets it write on the screen, and without a desktop it would
    start a text browser in our terminal.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if Path(browser.name).name in _TERMINAL_BROWSERS:
        return False
    if not isinstance(browser, webbrowser.GenericBrowser):
        return browser.open(url)
    words = [browser.name, *(argument.replace("%s", url) for argument in browser.args)]
    try:
        return _exit_code(words, BROWSER_SECONDS) == 0
    except OSError:
        return False


def _exit_code(command: Sequence[str], seconds: float) -> int:
    """Start a program beside the app; return its exit code, 0 if it still runs after a while."""
    process = subprocess.Popen(  # noqa: S603 - the user's own programs, no shell
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return 0
