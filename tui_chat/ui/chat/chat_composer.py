"""The composer of the conversation: sending, the queue, commands, suggestions, snippets, and the
user's own editor.
"""

from __future__ import annotations

from asyncio import to_thread
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.ui.area import WorkspaceWidget
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.drafts import confirm_send
from tui_chat.ui.commands import CommandCall, UnknownCommand, escape_command, parse_command
from tui_chat.ui.questions import ask, ask_line, ask_with_keys, confirm

if TYPE_CHECKING:
    from tui_chat.ui.area import AreaContext
    from tui_chat.ui.chat.chat_pane import ChatPane
    from tui_chat.ui.chat.completion import CompletionQuery
    from tui_chat.ui.chat.drafts import ComposerDrafts
    from tui_chat.workspace.workspace import Workspace


_SAVE = "+"
"""Id of the choice to save the draft as a snippet."""
_ALL = "all"
"""Id of the choice to remove all queued messages."""


class ChatComposer(Composer, WorkspaceWidget):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """The editor of the conversation's draft, and the actions that concern it."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("edit_draft", "insert_snippet", "queue"))

    def __init__(self, context: AreaContext) -> None:
        super().__init__(id="composer")
        self.context = context

    @property
    def _chat(self) -> ChatPane:
        return self.host.panes.chat

    @property
    def _drafts(self) -> ComposerDrafts:
        return self._chat.drafts

    @work(group="editing-mode", exclusive=True, description="choose the editing mode")
    async def set_editing_mode(self, name: str) -> None:
        """Edit the draft with the keys of a mode that a plugin adds; empty for the ordinary ones.
        A name that no plugin adds is an error of the configuration, which the start shows.
        """
        await self.modal_editing.choose(name)

    @on(Composer.Changed)
    def _draft_changed(self) -> None:
        self._drafts.changed()
        if not self.text:
            self._chat.tool_question.consider_focus()

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        if not (event.text.strip() or self.has_attachments):
            self._send_queued()
        elif not isinstance(line := parse_command(event.text), str):
            self._run_command(line)
        else:
            self._drafts.submit(line, event.text)

    # --- the queue -------------------------------------------------------------------------

    @work(group="send", description="send a queued message")
    async def _send_queued(self) -> None:
        """Send the next queued message, unless a reply is arriving."""
        from tui_chat.workspace.message_queue import parts_of

        workspace = self.host.workspace
        if workspace is None or workspace.state.is_streaming or not workspace.state.queue:
            return
        message = workspace.state.queue[0]
        parts = await to_thread(parts_of, message)
        composed = workspace.requests.compose(message.text, parts=parts)
        if await confirm_send(self.tui, composed.errors):
            await workspace.queue.send_next(despite_errors=True)

    @work(group="dialog", exclusive=True)
    async def action_queue(self) -> None:
        """Show the queued messages; take one into the composer, or remove it."""
        workspace = await self.host.opened_workspace()
        queue = workspace.state.queue
        if not queue:
            self.notify("Nothing is queued. Enter queues a message while a reply arrives.")
            return
        choices = [
            (str(index), f"{index + 1}", one_line(message.text, 300))
            for index, message in enumerate(queue)
        ]
        choices.append((_ALL, "Remove all", ""))
        keys = {"enter": "edit", "delete": "remove"}
        chosen = await ask_with_keys(self.tui, "Queued messages", choices, "0", keys)
        if chosen is None or workspace.state.queue != queue:
            return
        if chosen.id == _ALL:
            await workspace.queue.remove()
        elif chosen.key == "delete":
            await workspace.queue.remove(int(chosen.id))
        elif self._drafts.is_active:
            message = await workspace.queue.take(int(chosen.id))
            if message is not None:
                await self._drafts.take_back(message)

    @work(group="command", description="run command")
    async def _run_command(self, line: CommandCall | UnknownCommand) -> None:
        """Run a command. One that cannot be run stays selected where it was typed: it can be
        corrected, and what is typed next replaces it.
        """
        from tui_chat.ui.chat.command_suggestions import command_error

        if (error := command_error(line)) is not None or isinstance(line, UnknownCommand):
            if parse_command(self.text) == line:  # else more was typed meanwhile
                self.select_all()
            if error is not None:
                self.show_error(error)
            return
        self.clear_text()
        await self.tui.run_action(("", "run_verb", (line.command.id, line.argument)))

    @work(group="attach", description="paste")
    async def action_paste(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  a worker
        """Attach the picture in the system's clipboard, else insert what was copied in the app."""
        with suppress(InputError):  # a clipboard that cannot be read has no picture for us
            if await self._chat.attachments.attach_clipboard_picture():
                return
        self.insert_text(self.tui.clipboard)

    def complete(self, query: CompletionQuery) -> None:
        """Suggest commands, their arguments, or paths."""
        from tui_chat.ui.chat.command_suggestions import is_about_paths, suggest

        if is_about_paths(query):
            self._suggest_paths(query)
        else:
            suggestions = suggest(query, self.host.workspace, self.tui.available_themes)
            self.offer_suggestions(query, suggestions)

    @work(group="paths", exclusive=True, description="suggest paths")
    async def _suggest_paths(self, query: CompletionQuery) -> None:
        """Suggest paths."""
        from tui_chat.ui.chat.command_suggestions import suggest_paths

        self.offer_suggestions(query, await to_thread(suggest_paths, query))

    @work(group="dialog", exclusive=True)
    async def action_search_prompts(self) -> None:
        """Search the prompts that were sent by typing, and put one into the composer."""
        texts = self.prompt_history.texts()
        if not texts:
            self.notify("You have not sent anything yet.")
            return
        choices = [(str(index), one_line(text, 300)) for index, text in enumerate(texts)]
        chosen = await ask(self.tui, "Earlier prompts", choices, "0")
        if chosen is not None:
            self.rewrite(escape_command(texts[int(chosen)]))
            self.focus()

    @work(group="dialog", exclusive=True)
    async def action_edit_draft(self) -> None:
        """Edit the draft in the user's own editor."""
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        workspace = self.host.workspace
        if workspace is not None and workspace.state.is_temporary:
            why = "$EDITOR needs a file, and a temporary session writes nothing to disk."
            raise InputError(why)
        text = await edit_in_editor(self.tui, self.text)
        if text != self.text:
            self.rewrite(text)
        self.focus()

    @work(group="dialog", exclusive=True)
    async def action_insert_snippet(self, name: str = "") -> None:
        """Insert a snippet into the draft; without a name, ask which one."""
        from tui_chat.library.snippets import Blank, expanded

        workspace = await self.host.opened_workspace()
        name = name or await self._ask_snippet(workspace) or ""
        if name == _SAVE:
            await self._save_snippet(workspace)
        if name in ("", _SAVE):
            return
        snippet = await to_thread(workspace.library.snippet, name)
        text, chosen = "", dict[str, str | None]()
        for piece in expanded(snippet, workspace.requests.inputs("")):
            if isinstance(piece, Blank) and piece.choices[1:] and piece.name not in chosen:
                choices = ((choice, choice) for choice in piece.choices)
                chosen[piece.name] = await ask(self.tui, piece.name, choices, piece.text)
                if chosen[piece.name] is None:
                    return
            if isinstance(piece, Blank):
                text += chosen.get(piece.name) or piece.text
            else:
                text += piece
        self.focus()
        start = min(self.selection)
        self.insert_text(text)
        end = self.cursor_location
        self.move_cursor(start)
        if not self.select_blank():
            self.move_cursor(end)

    async def _ask_snippet(self, workspace: Workspace) -> str | None:
        """Ask for a snippet by its name. Raises InputError if there is none."""
        library, config = workspace.library, workspace.state.config

        def about(name: str) -> str:
            try:
                return library.snippet(name).description
            except InputError as error:
                path = str(library.files("snippets").get(name))
                return str(error).removeprefix(path).lstrip(": ")

        def read() -> list[tuple[str, str, str]]:
            return [(name, name, about(name)) for name in library.names("snippets")]

        choices = await to_thread(read)
        if self.text.strip():
            choices.append((_SAVE, "Save the draft as a snippet", "{{?name}} makes a blank in it"))
        if not choices:
            folder = config.config_dir / "snippets"
            advice = f"Put text into {folder}/NAME.md, or type one first to save it."
            raise InputError("There are no snippets yet.", advice=advice)
        return await ask(self.tui, "Insert snippet", choices, choices[0][0])

    async def _save_snippet(self, workspace: Workspace) -> None:
        """Write the draft to a snippet, asking for its name."""
        from tui_chat.library.library import file_name

        text = self.text
        typed = await ask_line(self.tui, "Name of the snippet")
        if not typed:
            return
        name = file_name(typed)
        exists = name in workspace.library.names("snippets")
        question = f"A snippet “{one_line(name, 60)}” already exists."
        if not exists or await confirm(self.tui, "Replace it?", question, yes="Replace"):
            path = await to_thread(workspace.library.save_snippet, text, name, overwrite=exists)
            self.notify(f"Saved {one_line(str(path))}.", markup=False)
