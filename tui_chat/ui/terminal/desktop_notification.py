r"""Desktop notifications through the terminal, for when another window has the focus.

iTerm2, kitty, WezTerm, Ghostty and Windows Terminal know `ESC]9;text BEL`, urxvt and foot
`ESC]777;notify;title;text BEL`; other terminals ignore both. The bell follows, with which any
terminal can mark its window. tmux passes the sequences on only if `allow-passthrough` is on,
wrapped and with each escape doubled; the bell it handles in any case.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from textual.app import App

from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.ui.terminal.helper_command import run_helper

if TYPE_CHECKING:
    from tui_chat.workspace.events import WorkspaceEvent

Notify = Literal["osc9", "osc777", "bell", "off"]
"""The way to notify."""

BELL = "\x07"

LONG_REPLY = 5.0
"""Seconds from which the end of a reply is notified if another window has the focus."""

_BLOCK_MARKS = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+])[ \t]+|(?:```|~~~)\S*)", re.MULTILINE)
_EXCERPT = 1_000
"""Characters of a reply from which the text is taken."""
_TMUX_TIMEOUT = 2.0
"""Seconds to wait for tmux."""


def describe_ending(entry: Entry) -> str:
    """Return how a reply ended: its error, the tools it calls, or its beginning."""
    if entry.status == "failed":
        return f"The reply failed: {entry.error}"
    if entry.message.tool_calls:
        names = ", ".join(dict.fromkeys(call.name for call in entry.message.tool_calls))
        return f"The reply calls {names}."
    return _BLOCK_MARKS.sub("", entry.message.content[:_EXCERPT]).strip() or entry.status


def notification_sequence(how: Notify, title: str, text: str, environ: Mapping[str, str]) -> str:
    """Return the bytes for the terminal, without control characters of the title and text."""
    title, text = one_line(title, 60).replace(";", ","), one_line(text, 120)
    match how:
        case "off":
            return ""
        case "bell":
            return BELL
        case "osc9":
            sequence = f"\x1b]9;{title}: {text}{BELL}"
        case "osc777":
            sequence = f"\x1b]777;notify;{title};{text}{BELL}"
    if environ.get("TMUX"):
        escaped = sequence.replace("\x1b", "\x1b\x1b")
        sequence = f"\x1bPtmux;{escaped}\x1b\\"
    return sequence + BELL


def is_hidden_in_tmux(environ: Mapping[str, str]) -> bool:
    """Return True if tmux shows another window, or none; False without tmux.

    tmux reports focus to programs only if `focus-events` is on.
    """
    if not environ.get("TMUX"):
        return False
    pane = environ.get("TMUX_PANE", "")
    fields = "#{window_active} #{session_attached}"
    command = ("tmux", "display-message", "-p", "-t", pane, fields)
    values = (run_helper(command, environ, _TMUX_TIMEOUT, wants_output=True) or b"").split()
    return len(values) == 2 and b"0" in values


class ReplyAlerts:
    """Notifies users who look at another window that a long reply has ended."""

    def __init__(self, app: App[None], how: Notify, environ: Mapping[str, str]) -> None:
        self._app = app
        self._how: Notify = how
        self._environ = environ
        self._streaming_id = ""
        """The id of the reply that is streaming in the active session."""

    def handle(
        self, event: WorkspaceEvent, entries: tuple[Entry, ...], *, is_temporary: bool = False
    ) -> None:
        """Follow the replies; `entries` are the active branch's. Of a reply in a temporary session
        nothing is quoted: desktops keep notifications.
        """
        from tui_chat.workspace.events import BackgroundReplyEnded, BranchChanged

        last = entries[-1] if entries else None
        if isinstance(event, BackgroundReplyEnded):
            self._reply_ended(event.entry, event.title)
        elif isinstance(event, BranchChanged) and last is not None:
            if last.status == "streaming":
                self._streaming_id = last.message.id
            elif last.message.id == self._streaming_id:
                self._streaming_id = ""
                self._reply_ended(last, is_quoted=not is_temporary)

    def _reply_ended(self, entry: Entry, title: str = "", *, is_quoted: bool = True) -> None:
        if (entry.seconds or 0) >= LONG_REPLY:
            text = describe_ending(entry) if is_quoted else "The reply has ended."
            work = self._notify(f"{title}: {text}" if title else text)
            # Without a description Textual makes one of all the arguments, however large.
            self._app.run_worker(work, group="notice", description="notify that a reply ended")

    async def _notify(self, text: str) -> None:
        if self._app.app_focus and not await asyncio.to_thread(is_hidden_in_tmux, self._environ):
            return
        sequence = notification_sequence(self._how, "tui-chat", text, self._environ)
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage]  Textual has no public way to write
        if sequence and driver is not None:
            driver.write(sequence)
