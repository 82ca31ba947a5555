"""The area of the preset editor: the preset, its file, and the profile beside it."""

from __future__ import annotations

from asyncio import to_thread
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.paths import typed_path
from tui_chat.ui.area import Area, AreaContext
from tui_chat.ui.questions import ask, ask_line, ask_path, confirm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_chat.models.envelope import Level
    from tui_chat.models.preset import Preset
    from tui_chat.ui.presets.pane import PresetPane
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace

POLL_SECONDS = 1.0
"""Seconds between looks at the preset's file."""


class PresetsArea(Area):
    """The preset editor. The pane is created when it is first needed."""

    DEFAULT_CSS = """
    PresetsArea > PresetPane { width: 1fr; height: 1fr; }
    """
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("choose_preset", "choose_profile"))

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "presets")
        self.pane: PresetPane | None = None

    def compose(self) -> ComposeResult:
        yield Static("Opening the preset editor …", id="opening")

    def on_mount(self) -> None:
        self.set_interval(POLL_SECONDS, self.check_file)

    def handle(self, event: WorkspaceEvent) -> None:
        """Show the active session's preset, and what the request says about it."""
        from tui_chat.workspace import events

        match event:
            case events.PresetChanged():
                self._show_preset()
            case events.BranchChanged() if self.workspace.state.is_branch_loaded:
                self._show_preset()
            case events.RequestComposed():
                self._show_request()
            case _:
                pass

    def _show_preset(self) -> None:
        workspace, pane = self.workspace, self.pane
        if pane is not None:
            name = workspace.state.preset_name
            is_ours = workspace.library.is_ours(name)
            pane.show(name, workspace.state.preset_edits, ours=is_ours)

    def _show_request(self) -> None:
        live = self.workspace.state.request.live
        if self.pane is not None and live is not None:
            self.pane.show_request(live)

    # --- the pane ------------------------------------------------------------------------

    async def action_toggle_editor(self) -> None:
        """Open and focus the preset editor; if it has the focus, close it."""
        if self.pane is not None:
            self.host.panes.toggle_area(self)
            return
        self.host.panes.show_area(self)  # at once: what fills it takes a while the first time
        self._open_editor()

    @work(group="open", description="open the preset editor")
    async def _open_editor(self) -> None:
        await self.host.opened_workspace()
        await to_thread(import_module, "tui_chat.ui.presets.pane")
        await self.open_pane()
        self.call_after_refresh(self.focus)

    def fill(self) -> None:
        """Create the pane of an area that is shown, such as one that was open at the last end."""
        if self.pane is None:
            self._fill()

    @work(group="fill", exclusive=True, description="open the preset editor")
    async def _fill(self) -> None:
        await self.host.opened_workspace()
        await self.open_pane()

    async def open_pane(self) -> PresetPane:
        """Return the pane, created and filled if it is not there yet."""
        if self.pane is None:
            from tui_chat.ui.presets.pane import PresetPane

            self.pane = PresetPane()
            await self.mount(self.pane, before=0)
            await self.remove_children("#opening")
        self._show_preset()
        self._show_request()
        return self.pane

    async def _shown_pane(self) -> PresetPane:
        pane = await self.open_pane()
        self.host.panes.show_area(self)
        return pane

    def on_preset_pane_edited(self, event: PresetPane.Edited) -> None:
        self.workspace.presets.edit(event.name, event.edits)

    def highlight(self, origin: Origin | None, *, scroll: bool) -> None:
        """Move to the row that a piece of the request came from."""
        if origin is not None and scroll and self.pane is not None:
            self.pane.reveal(origin)

    async def reveal(self, origin: Origin) -> bool:
        """Open the preset message or profile that a piece of the request came from."""
        if origin.lore_entry is not None:  # also in a preset message with a macro for lore
            return False
        match origin.outermost.kind:
            case OriginKind.PROFILE:
                await self.tui.run_action("presets.choose_profile")
            case _ if (message := origin.preset_message) is not None:
                pane = await self._shown_pane()
                if pane.reveal(message):
                    self.call_after_refresh(pane.focus)
            case _:
                return False
        return True

    def action_show_places(self) -> None:
        """Show where the message under the cursor is in the live request."""
        if self.pane is not None and (message := self.pane.message) is not None:
            origin = Origin(OriginKind.PRESET, message.id, message.name)
            self.host.panes.inspector.reveal_in_live(origin)

    # --- choosing ------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_choose_preset(self, name: str = "") -> None:
        """Use another preset from the next message on."""
        workspace = await self.host.opened_workspace()
        names = workspace.library.names("presets")
        choices = ((each, each) for each in names)
        current = workspace.state.preset_name
        chosen = name or await ask(self.tui, "Choose preset", choices, current)
        if chosen and chosen in names:
            await workspace.presets.choose(chosen)
        elif chosen:
            advice = f"Available: {', '.join(names)}."
            raise InputError(f"There is no preset “{chosen}”.", advice=advice)

    @work(group="dialog", exclusive=True)
    async def action_choose_profile(self, name: str = "") -> None:
        """Choose, create and edit profiles; with a name, use that one from the next message on."""
        from tui_chat.ui.dialogs.profiles import choose_profile

        workspace = await self.host.opened_workspace()
        if name:
            await workspace.settings.set_profile(name)
        else:
            await choose_profile(self.tui, workspace)

    # --- files ---------------------------------------------------------------------------

    def check_file(self) -> None:
        """Reload the preset if another program changed its file; ask if both were changed."""
        if not self.host.is_workspace_open or not self.screen.is_current:
            return
        workspace = self.workspace
        match workspace.presets.check_file():
            case "reloaded":
                name = workspace.state.preset_name
                sentence = f"“{name}” was changed by another program and read again."
                self.notify(sentence, markup=False)
            case "conflict":
                self._resolve_conflict(workspace)
            case "same":
                pass

    @work(group="dialog", exclusive=True)
    async def _resolve_conflict(self, workspace: Workspace) -> None:
        question = (
            f"Another program changed the file of “{workspace.state.preset_name}”, and you have "
            "unsaved edits.\n\nIf you use the file's version, undo restores your edits."
        )
        yes, no = "Use the file's version", "Keep mine"
        if await confirm(self.tui, "File changed", question, yes=yes, no=no):
            workspace.presets.revert()

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        workspace = self.workspace
        name = workspace.state.preset_name
        question = f"Another program changed the file of “{name}” since it was read."
        if workspace.presets.would_overwrite() and not await confirm(
            self.tui, "Overwrite the file?", question, yes="Overwrite"
        ):
            return
        await self._save(workspace, is_ours=workspace.library.is_ours(name))

    async def _save(self, workspace: Workspace, name: str = "", *, is_ours: bool = False) -> None:
        """Save the preset, and say where; `is_ours` if it came with the program."""
        path = await workspace.presets.save(name)
        if path is not None:
            why = "It came with the program; your copy is used now.\n" if is_ours else ""
            self.notify(f"Saved.\n{why}{path}", markup=False)

    @work(group="dialog", exclusive=True)
    async def action_files(self) -> None:
        """Create, copy, import, compare, rename or delete presets."""
        workspace = await self.host.opened_workspace()
        app, name = self.tui, workspace.state.preset_name
        chosen = await self._ask_command(workspace)
        match chosen:
            case "use":
                await self.tui.run_action("presets.choose_preset")
            case "new":
                await self._create(workspace)
            case "copy":
                if new := await ask_line(app, "Save as", f"{name} copy"):
                    await self._save(workspace, new)
            case "import":
                title = f"Import a {_program()} preset"
                if path := await ask_path(app, title, enter="import"):
                    await self._import(workspace, path)
            case "export":
                title = f"Export the preset to {_program()}"
                if path := await ask_path(app, title, f"{name}.json", enter="write"):
                    self._export(workspace, path)
            case "report":
                self._show_report(workspace.state.preset)
            case "rename":
                if new := await ask_line(app, "Rename the preset", name):
                    await workspace.presets.rename(new)
            case "delete":
                words = f"This deletes “{name}” and its file."
                words += " Sessions that use it continue without it."
                if await confirm(app, "Delete preset?", words, yes="Delete"):
                    await workspace.presets.delete()
            case "revert":
                workspace.presets.revert()
            case "settings":
                pane = await self._shown_pane()
                self.call_after_refresh(pane.action_settings)
            case "file":
                await self._edit_file(workspace)
            case _:
                pass

    async def _create(self, workspace: Workspace) -> None:
        if name := await ask_line(self.tui, "Name of the new preset"):
            await workspace.presets.create(name)

    async def _ask_command(self, workspace: Workspace) -> str | None:
        """Ask for something to do with the preset or its file; only what is possible is offered."""
        edits, name = workspace.state.preset_edits, workspace.state.preset_name
        program = _program()
        choices = [
            ("use", "Choose preset …", "from the next message on"),
            ("new", "New preset …", "only the history"),
        ]
        if program:
            choices.append(("import", f"Import from {program} …", "a preset file"))
        if edits is not None:
            choices += [
                ("copy", "Save as …", "a copy, which this session then uses"),
                ("settings", "Preset settings …", "name, variables, policies"),
            ]
            if program:
                choices.append(("export", f"Export to {program} …", "a preset file"))
            if edits.preset.without_builder_keys() is not edits.preset:
                choices.append(("report", "Import report", "what was changed or is not used"))
            if edits.is_changed:
                choices.append(("revert", "Revert to saved", "undo restores the edits"))
        choices.append(("file", "Edit as JSON in $EDITOR", ""))
        if not workspace.library.is_ours(workspace.state.preset_name):
            choices += [
                ("rename", "Rename …", "and its file"),
                ("delete", "Delete …", "and its file"),
            ]
        return await ask(self.tui, f"Preset “{name}”", choices)

    async def _import(self, workspace: Workspace, typed: str) -> None:
        """Import another program's preset, use it, and say what is not as it was."""
        from tui_chat.library.foreign_files import import_preset_file

        imported = await to_thread(import_preset_file, typed_path(typed))
        await workspace.presets.add(imported.preset)
        self._show_report(imported.preset)

    def _show_report(self, preset: Preset) -> None:
        """Show what of an imported file was changed or is not used; the menu shows it again."""
        from tui_chat.library.foreign_files import first_preset_files

        notes = first_preset_files().report(preset)
        title = f"Import of “{one_line(preset.name, 60)}”"
        sentences = [(note.level, note.sentence) for note in notes]
        self._show_sentences(title, sentences, "Everything in the file is used.")

    def _show_sentences(
        self, title: str, sentences: Sequence[tuple[Level, str]], nothing: str
    ) -> None:
        from tui_chat.ui.presets.dialogs import TextDialog, report

        self.tui.push_screen(TextDialog(title, report(sentences, nothing)))

    def _export(self, workspace: Workspace, typed: str) -> None:
        """Write the preset as another program's, and say what it does not express."""
        from tui_chat.library.foreign_files import first_preset_files

        exported = first_preset_files().write(workspace.state.preset)
        path = typed_path(typed)
        write_bytes(exported.text.encode(), path, "shared", overwrite=False)
        if exported.notes:
            from tui_chat.models.envelope import Level

            sentences = [(Level.WARNING, note) for note in exported.notes]
            self._show_sentences(f"Exported to {path}", sentences, "")
        else:
            self.notify(f"Exported to {path}.", markup=False)

    # --- the user's own editor -----------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_edit_file(self) -> None:
        """Edit the whole preset as JSON in the user's editor."""
        await self._edit_file(self.workspace)

    async def _edit_file(self, workspace: Workspace) -> None:
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        before = text = workspace.presets.text()
        while True:
            text = await edit_in_editor(self.tui, text, "preset.json")
            if text == before:
                return
            try:
                workspace.presets.edit_text(text)
            except InputError as error:
                yes, no = "Discard changes", "Edit again"
                if await confirm(self.tui, "Not valid", str(error), yes=yes, no=no):
                    return
            else:
                return

    @work(group="dialog", exclusive=True)
    async def action_edit_content(self) -> None:
        """Edit the content of the message under the cursor in the user's editor."""
        from tui_chat.models.text import clean
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        pane = self.pane
        message = pane.message if pane is not None else None
        if pane is None or message is None:
            return
        text = clean(await edit_in_editor(self.tui, message.content))
        if text != message.content and not pane.rewrite(message, text):
            raise InputError("The message is no longer there.", advice="Its text was: " + text)


def _program() -> str:
    """Return the program whose presets a plugin reads and writes; empty without one."""
    from tui_chat.library.foreign_files import preset_files

    return next((files.program for files in preset_files()), "")
