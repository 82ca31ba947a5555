"""Supposing: requests that nobody sent from here: captured ones, and what if."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, EntryStatus
from tui_chat.ui.acting.inspecting import Inspecting, Seen

if TYPE_CHECKING:
    from tui_chat.turn_file import TurnFile, TurnReply
    from tui_chat.workspace import Workspace


class Supposing(Inspecting):
    """Opens captured requests, keeps them, and shows what other settings would make."""

    _opened_first = ""
    """The captured request that the program was started with, until it is shown."""

    @work(group="dialog", exclusive=True)
    async def action_open_captured(self) -> None:
        """Open a request body that was captured somewhere."""
        from tui_chat.ui.dialogs.questions import ask_captured

        await self._workspace_opened.wait()
        if self.workspace is not None and (text := await ask_captured(self)) is not None:
            await self._look_at_captured(self.workspace, text)

    def open_first(self, text: str) -> None:
        """Have a captured request in the inspector as soon as there is one."""
        self._opened_first = text

    @work(group="dialog", exclusive=True)
    async def show_first(self) -> None:
        """Show the request that the program was started with, if it was."""
        text, self._opened_first = self._opened_first, ""
        if text:
            await self._workspace_opened.wait()
            if self.workspace is not None:
                await self._look_at_captured(self.workspace, text)

    async def _look_at_captured(self, workspace: Workspace, text: str) -> None:
        from tui_chat.analysis import read_captured
        from tui_chat.turn_file import holds_turn, read_turn

        try:
            text = await asyncio.to_thread(in_file, text)
            if holds_turn(text):
                turn = read_turn(text, "The exported turn")
                self._look_at(await asyncio.to_thread(seen_in, turn, workspace.state.session_id))
                return
            captured = read_captured(text)
        except InputError as fault:
            self.show_error(fault)
            return
        composed = workspace.requests.from_envelope(captured.envelope, captured.protocol)
        words = f"captured {captured.protocol.label} request"
        if not captured.settings.model:
            words += " · names no model"
        self._look_at(Seen(composed, words, workspace.state.session_id, captured=captured))

    @work(group="dialog", exclusive=True)
    async def action_keep_captured(self) -> None:
        """Make a session and a preset of the captured request that is looked at."""
        from tui_chat.ui.dialogs.questions import ask_text

        workspace, seen = self.workspace, self._seen
        captured = seen.captured if seen is not None else None
        if workspace is None or seen is None or captured is None:
            key = self.key_bindings.labels["palette"]
            advice = f"“Open a captured request” is in the palette ({key})."
            self.show_error(InputError("No captured request is open.", advice=advice))
            return
        name = await ask_text(self, "Name of the session and its preset", "Captured")
        if name is not None:
            self._go_live()
            wanted = seen.composed.model
            await self.show_session(
                lambda workspace: workspace.import_export.import_captured(
                    name, captured.messages, captured.preset(name), captured.settings, seen.entry
                )
            )
            words, is_all = told_of_keeping(
                captured.not_kept, wanted, workspace.requests.compose("").model
            )
            severity = "information" if is_all else "warning"
            self.notify(words, severity=severity, timeout=12, markup=False)

    @work(group="dialog", exclusive=True)
    async def action_what_if(self) -> None:
        """See the request with another limit, model or length; the session stays as it is."""
        from tui_chat.ui.dialogs.questions import ask_what_if

        await self._workspace_opened.wait()
        workspace, inspector = self.workspace, self.panes.inspector
        if workspace is None or inspector is None:
            return
        asked = await ask_what_if(self, workspace, self._what_if)
        if asked is None:
            return
        self._go_live()
        if not asked.is_empty:
            self._what_if = asked
            inspector.show_banner(f"what if: {asked.description} · Esc: back")
            self.panes.open("inspector")
            self.call_after_refresh(inspector.focus)
        self.compose_soon()


def told_of_keeping(not_kept: tuple[str, ...], wanted: str, asked: str) -> tuple[str, bool]:
    """Return what became of a captured request, and whether all of it was kept.

    `wanted` is its model, empty where it names none; `asked` the one that will be.
    """
    told = ["Kept as a session with its preset."]
    if not wanted:
        told.append(f"It names no model: {asked} is asked.")
    elif wanted != asked:
        told.append(f"Its model {wanted} is not offered here: {asked} is asked.")
    if not_kept:
        listed = one_line(", ".join(not_kept), _LONGEST_LIST + 1)
        cut = listed if len(listed) <= _LONGEST_LIST else f"{listed[:_LONGEST_LIST]}…"
        told.append(f"Not kept: {cut}.")
    return "\n".join(told), len(told) == 1


def seen_in(turn: TurnFile, session_id: str) -> Seen:
    """Compose the request of an exported turn again, and tell whether it is the same."""
    from tui_chat.compose import compose

    composed = compose(turn.inputs)
    words = "exported turn · rebuilt, same SHA-256"
    if composed.payload.sha256 != turn.request.sha256:
        words = f"exported turn · NOT the same bytes: version {one_line(turn.app, 20)} made it"
    entry = _entry_of(turn.reply) if turn.reply is not None else None
    return Seen(composed, words, session_id, entry, turn)


_ENDED: dict[str, EntryStatus] = {
    "complete": "complete",
    "stopped": "stopped",
    "interrupted": "interrupted",
}


def _entry_of(came: TurnReply) -> Entry:
    return Entry(
        came.message,
        status=_ENDED.get(came.status, "failed"),
        error=came.error,
        model=came.model,
        endpoint=came.endpoint,
        usage=came.usage,
        finish=came.finish,
        seconds=came.seconds,
    )


def in_file(text: str) -> str:
    """Return what a file holds where the text is its path, else the text itself."""
    name = text.strip().strip("'\"")
    if "\n" in name or len(name) > _LONGEST_PATH or "{" in name:
        return text
    try:
        path = Path(name).expanduser()
        if path.is_dir() or not path.exists():
            return text
        return read_file(path, LARGEST_REQUEST).decode("utf-8", "replace")
    except (OSError, RuntimeError, ValueError) as error:  # unreadable; no home; a null character
        raise InputError(f"{name} cannot be read: {error}") from error


_LONGEST_LIST = 300
"""Characters of what is told of things that were not kept."""
_LONGEST_PATH = 4_096
"""Characters; what is longer is no path."""
