"""The files and links of messages, and the export of a conversation or a part of it."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import InputError, NotYet
from tui_chat.models.media import describe
from tui_chat.models.sanitize import one_line
from tui_chat.ui.area import WorkspaceWidget
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.chat.turns import turn_at, user_turns
from tui_chat.ui.questions import ask, confirm

if TYPE_CHECKING:
    from tui_chat.models.blocks import MediaBlock
    from tui_chat.models.session import Entry

NO_MESSAGE_YET = "There is no message in this session yet."


class MessageFiles(Transcript, WorkspaceWidget):
    """A transcript whose messages can be exported, and their files and links opened."""

    def _entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying so, if there is none."""
        if self.current is None:
            self.notify("There is no message yet.")
        return self.current

    def _complete_entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying why, if it is still arriving."""
        entry = self._entry()
        if entry is not None and entry.status == "streaming":
            self.notify("This reply is still arriving; Esc stops it.")
            return None
        return entry

    @work(group="dialog", exclusive=True)
    async def action_export(self, argument: str = "") -> None:
        """Export the session or a part of it. `argument`: `PATH`, `FORMAT PATH` or `FORMAT`, of the
        whole session; asks for the rest.
        """
        from tui_chat.ui.dialogs.export import ask_export_file, ask_format, format_and_path

        workspace = await self.host.opened_workspace()
        session = workspace.state.session
        if session is None:
            raise NotYet(NO_MESSAGE_YET)
        kind, path, chosen = None, "", "all"
        parts = self._parts_to_export()
        if argument:
            kind, path = format_and_path(argument)
        else:
            choices = [
                (key, label, f"{len(part):,} message{'s' * (len(part) != 1)}")
                for key, (label, part) in parts.items()
            ]
            chosen = await ask(self.tui, "Export which part?", choices, "all")
            kind = None if chosen in (None, "copy") else await ask_format(self.tui)
        if chosen == "copy":
            self._copy_all()
        if chosen is None or kind is None:
            return
        target = await ask_export_file(self.tui, session.title, kind, path)
        if target is not None and chosen == "all":
            self._export(session.session_id, kind, *target)
        elif target is not None:
            file, replaces = target
            part = parts[chosen][1]
            await workspace.exports.export_part(part, kind, file, overwrite=replaces)

    def _parts_to_export(self) -> dict[str, tuple[str, Sequence[Entry]]]:
        entries, index = self.entries, self.current_index
        parts: dict[str, tuple[str, Sequence[Entry]]] = {"all": ("The whole conversation", entries)}
        if index is not None and entries[index].status != "streaming":
            turns = user_turns(entries)
            turn = turns[turn_at(turns, index)]
            parts |= {
                "copy": ("The whole conversation, to the clipboard", entries),
                "message": ("This message", entries[index : index + 1]),
                "turn": ("This turn", entries[turn.first : turn.first + turn.size]),
                "after": ("From here to the end", entries[index:]),
                "before": ("From the beginning to here", entries[: index + 1]),
            }
        return parts

    def _copy_all(self) -> None:
        """Copy the conversation, each message below who speaks."""
        from tui_chat.ui.chat.header_footer import speaker_of

        names = self._layouts.options.speakers
        texts = (f"{speaker_of(each, names)}:\n\n{each.message.content}" for each in self.entries)
        self.copy("\n\n".join(texts), "conversation")

    @work(group="files", description="export")
    async def _export(self, session_id: str, kind: str, file: Path, replaces: bool) -> None:
        await self.workspace.exports.export(session_id, kind, file, overwrite=replaces)

    @work(group="dialog", exclusive=True)
    async def action_open(self) -> None:
        """Open a link, picture or file of the message; ask which if there are several."""
        entry = self._entry()
        if entry is None:
            return
        choices = {str(index): link for index, link in enumerate(self.links)}
        for index, part in self._files:
            choices[f"file {index}"] = f"{part.media} {one_line(describe(part), 60)}"
        if not choices:
            self.notify("There is no link, picture or file in this message.")
            return
        chosen: str | None = next(iter(choices))
        if len(choices) > 1:
            chosen = await ask(self.tui, "Open", choices.items(), chosen)
        if chosen is not None and chosen.startswith("file "):
            self.action_view(int(chosen.removeprefix("file ")))
        elif chosen is not None:
            await self._open_link(choices[chosen])

    @property
    def _files(self) -> list[tuple[int, MediaBlock]]:
        """The pictures, sounds and files of the message whose content is here, by index."""
        parts = enumerate(self.current.message.parts if self.current is not None else ())
        return [(index, part) for index, part in parts if part.data or part.text]

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        """Save the message's first picture, sound or file."""
        from tui_chat.ui.dialogs.file_viewer import save_file

        if (file := await self._file()) is not None:
            await save_file(self, *file)

    @work(group="dialog", exclusive=True)
    async def action_view(self, index: int | None = None) -> None:
        """Show a part of the message by its index, else its first picture or file."""
        from tui_chat.ui.dialogs.file_viewer import view_file

        if (file := await self._file(index)) is not None:
            await view_file(self, *file)

    async def _file(self, index: int | None = None) -> tuple[str, bytes] | None:
        """Return name and bytes of a part of the message; None without one, which is said. Raises
        InputError if they are not here.
        """
        from tui_chat.models.media import file_of

        entry = self.current
        if index is None:
            index = next((index for index, _ in self._files), None)
        if entry is None or index is None:
            self.notify("There is no picture, sound or file in this message.")
            return None
        if index >= len(entry.message.parts):
            self.notify("This reply is still arriving.")
            return None
        file = await to_thread(file_of, entry.message.parts[index], index + 1)
        if file is None:
            raise InputError("Its content is not stored here, so it can't be shown or saved.")
        return file

    async def open_link(self, url: str) -> None:
        """Open a link that was clicked."""
        self._open_clicked(url)

    @work(group="dialog", exclusive=True, description="open a link")
    async def _open_clicked(self, url: str) -> None:
        await self._open_link(url)

    async def _open_link(self, url: str) -> None:
        """Open a web link, once the user has read and confirmed its address: models write links
        too.
        """
        from tui_chat.ui.terminal.external_programs import open_link

        if not url.startswith(("https://", "http://")):
            raise InputError("Only web links can be opened.", advice=url[:200])
        if not await confirm(self.tui, "Open this link?", url, yes="Open"):
            return
        if self.tui.is_web:
            self.tui.open_url(url)
        elif not await to_thread(open_link, url):
            self.tui.copy_to_clipboard(url)
            self.notify("No browser can be opened from here; the link was copied.", markup=False)
