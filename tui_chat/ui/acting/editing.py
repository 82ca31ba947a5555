"""Editing: the preset editor, and the presets' files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.paths import typed_path
from tui_chat.ui.acting.drafting import Drafting

if TYPE_CHECKING:
    from tui_chat.models.text import Origin
    from tui_chat.ui.inspector import Inspector
    from tui_chat.ui.presets import PresetPane
    from tui_chat.workspace import Workspace

LOOK_EVERY = 1.0
"""Seconds between looks at the preset's file."""

_MOST_TOLD = 12
"""Sentences about an import that are shown."""


class Editing(Drafting):
    """Answers the preset editor."""

    _pointed_at: Origin | None = None
    """What the inspector's cursor is on."""

    # --- the pane ------------------------------------------------------------------------

    async def action_presets(self) -> None:
        """Go to the preset editor; from there, close it and go back."""
        await self._workspace_opened.wait()
        await self._presets_there()
        self.panes.action_toggle_pane("presets")

    async def _presets_there(self) -> PresetPane:
        pane = self.panes.presets or await self.panes.add_presets()
        self.show_preset()
        self.compose_soon()
        return pane

    def show_preset(self) -> None:
        """Show the session's preset in the editor, where there is one."""
        workspace, pane = self.workspace, self.panes.presets
        if workspace is not None and pane is not None:
            pane.show(
                workspace.state.preset_name,
                workspace.state.preset_edits,
                ours=workspace.library.is_ours(workspace.state.preset_name),
            )

    def on_preset_pane_edited(self, event: PresetPane.Edited) -> None:
        """Compose with the edited preset from now on."""
        if self.workspace is not None:
            self.workspace.presets.edit(event.name, event.edits)

    async def on_preset_pane_editor_left(self, event: PresetPane.EditorLeft) -> None:
        """Go back to the composer."""
        await self.run_action("back")

    # --- where things come from ----------------------------------------------------------

    def on_preset_pane_origin_lit(self, event: PresetPane.OriginLit) -> None:
        """Show in the request what became of a row."""
        if self.panes.inspector is not None:
            self.panes.inspector.point(event.origin)

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Light the row that a piece of the request came from."""
        self._pointed_at = event.origin
        pane, inspector = self.panes.presets, self.panes.inspector
        if event.origin is None or pane is None or inspector is None:
            return
        if inspector.has_focus_within:
            pane.reveal(event.origin)

    async def on_inspector_origin_chosen(self, event: Inspector.OriginChosen) -> None:
        """Open the preset message that a piece of the request came from."""
        from tui_chat.models.text import OriginKind

        around = event.origin
        while around.kind is not OriginKind.PRESET and around.within is not None:
            around = around.within
        if around.kind is OriginKind.PRESET:
            pane = await self._presets_there()
            self.panes.open("presets")
            if pane.reveal(around):
                self.call_after_refresh(pane.focus)

    async def on_inspector_mark_wanted(self) -> None:
        """Give what the cursor of the inspector is on another cache mark, as an edit of the preset;
        a message of the conversation is marked by the history's line.
        """
        from tui_chat.models.text import Origin, OriginKind

        workspace, around = self.workspace, self._pointed_at
        while around is not None and around.kind is not OriginKind.PRESET and around.within:
            around = around.within
        if workspace is None or around is None:
            return
        if around.kind is OriginKind.HISTORY:
            lines = (
                m for m in workspace.state.preset.messages if m.type == "chat_history" and m.enabled
            )
            if anchor := next(lines, None):
                around = Origin(OriginKind.PRESET, anchor.id, anchor.name)
        pane = await self._presets_there()
        if around.kind is not OriginKind.PRESET or not pane.reveal(around):
            words = "A cache mark is placed by a line of the preset; this comes from none."
            self.notify(words, severity="warning", markup=False)
            return
        pane.action_want("mark")
        marked = pane.edits.preset if pane.edits is not None else workspace.state.preset
        message = next((m for m in marked.messages if m.id == around.id), None)
        lifetime = message.cache_control if message is not None else None
        at = "the history, at the newest message that stands still"
        what = at if message is not None and message.type == "chat_history" else around.label
        words = f"Cache mark for {lifetime}: {what}." if lifetime else f"No cache mark: {what}."
        self.notify(f"{words} c in the preset editor changes it, u undoes it.", markup=False)

    # --- files ---------------------------------------------------------------------------

    def watch_preset_file(self) -> None:
        """See what other programs do to the preset's file as soon as they do it."""
        self.set_interval(LOOK_EVERY, self.look_at_preset_file)

    def look_at_preset_file(self) -> None:
        """Follow the preset's file; where both were changed, ask which is to be had."""
        workspace = self.workspace
        if workspace is None or len(self.screen_stack) > 1:
            return
        match workspace.presets.check_file():
            case "reloaded":
                name = workspace.state.preset_name
                words = f"“{name}” was changed by another program and read again."
                self.notify(words, timeout=5, markup=False)
            case "conflict":
                self._ask_whose(workspace)
            case "same":
                pass

    @work(group="dialog", exclusive=True)
    async def _ask_whose(self, workspace: Workspace) -> None:
        from tui_chat.ui.dialogs.file_questions import confirm_take_file

        if await confirm_take_file(self, workspace.state.preset_name):
            workspace.presets.revert()

    @work(group="dialog", exclusive=True)
    async def on_preset_pane_save_requested(self) -> None:
        """Save the preset."""
        from tui_chat.ui.dialogs.file_questions import confirm_overwrite_preset

        workspace = self.workspace
        if workspace is None:
            return
        if workspace.presets.would_overwrite() and not await confirm_overwrite_preset(
            self, workspace.state.preset_name
        ):
            return
        ours = workspace.library.is_ours(workspace.state.preset_name)
        await self._told(workspace, ours=ours)

    async def _told(self, workspace: Workspace, name: str = "", *, ours: bool = False) -> None:
        path = await workspace.presets.save(name)
        if path is not None:
            why = "It came with the program; your copy is used now.\n" if ours else ""
            self.notify(f"Saved.\n{why}{path}", timeout=4 + 4 * ours, markup=False)

    @work(group="dialog", exclusive=True)
    async def ask_before_leaving(self) -> None:
        """Ask what becomes of replies that arrive, of edited presets and of what could not be
        saved, then leave.
        """
        from tui_chat.ui.dialogs.file_questions import ask_unsaved_presets
        from tui_chat.ui.dialogs.questions import confirm_quit, confirm_quit_unsaved

        workspace = self.workspace
        if workspace is None or (
            workspace.state.streaming_sessions
            and not await confirm_quit(self, len(workspace.state.streaming_sessions))
        ):
            return
        if workspace.state.unsaved_presets:
            match await ask_unsaved_presets(self, workspace.state.unsaved_presets):
                case "save" if workspace.presets.save_all():
                    pass
                case "leave":
                    pass
                case _:
                    return
        await workspace.replies.stop_all()
        if await workspace.store.database.write_deferred() or await confirm_quit_unsaved(
            self, workspace.unsaved_writes.reason
        ):
            self.exit()

    def on_preset_pane_more_requested(self) -> None:
        """Ask what is to be done with preset files."""
        self.action_preset_more()

    @work(group="dialog", exclusive=True)
    async def action_preset_more(self) -> None:
        """Make, copy, compare, rename or delete presets."""
        from tui_chat.ui.dialogs import file_questions as questions

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None:
            return
        chosen = await questions.ask_preset_command(self, workspace)
        match chosen:
            case "use":
                await self.run_action("choose_preset")
            case "new":
                if name := await questions.ask_preset_name(self, "Name of the new preset", ""):
                    await workspace.presets.create(name)
            case "copy":
                if name := await questions.ask_preset_name(
                    self, "Save as", f"{workspace.state.preset_name} copy"
                ):
                    await self._told(workspace, name)
            case "import":
                if path := await questions.ask_preset_import_path(self):
                    await self._take_in(workspace, path)
            case "rename":
                if name := await questions.ask_preset_name(
                    self, "Rename the preset", workspace.state.preset_name
                ):
                    await workspace.presets.rename(name)
            case "delete":
                if await questions.confirm_delete_preset(self, workspace.state.preset_name):
                    await workspace.presets.delete()
            case "revert":
                workspace.presets.revert()
            case "saved" | "other":
                await self._compare(workspace, chosen)
            case "settings":
                pane = await self._presets_there()
                self.panes.open("presets")
                self.call_after_refresh(pane.open_settings)
            case "file":
                await self._edit_file(workspace)
            case _:
                pass

    async def _take_in(self, workspace: Workspace, named: str) -> None:
        """Make a preset of one of SillyTavern's, use it, and tell what is not as it was."""
        from tui_chat.library.sillytavern_presets import load_sillytavern_preset

        try:
            found = await asyncio.to_thread(load_sillytavern_preset, typed_path(named))
        except InputError as fault:
            self.show_error(fault)
            return
        await workspace.presets.add(found.preset)
        lines = [one_line(note.sentence, 200) for note in found.notes[:_MOST_TOLD]]
        if more := len(found.notes) - len(lines):
            lines.append(f"{more:,} more; `tui-chat preset import` tells all of them.")
        words = "\n".join(["It is a preset of yours now.", *(f"· {line}" for line in lines)])
        self.notify(words, timeout=10 + 3 * len(lines), markup=False)

    async def _compare(self, workspace: Workspace, what: str) -> None:
        from tui_chat.library import dump_preset
        from tui_chat.ui.dialogs.file_questions import ask_preset_to_compare
        from tui_chat.ui.presets.diff_dialog import PresetDiff

        edits = workspace.state.preset_edits
        if edits is None:
            return
        now = dump_preset(edits.preset)
        if what == "saved":
            await self.push_screen_wait(
                PresetDiff(
                    f"{workspace.state.preset_name}: saved, then edited",
                    dump_preset(edits.saved),
                    now,
                )
            )
        elif name := await ask_preset_to_compare(self, workspace):
            try:
                other = dump_preset(workspace.presets.read(name))
            except InputError as fault:
                self.show_error(fault)
            else:
                title = f"{workspace.state.preset_name}, then {name}"
                await self.push_screen_wait(PresetDiff(title, now, other))

    # --- the user's own editor -----------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def on_preset_pane_file_requested(self) -> None:
        """Edit the whole preset as JSON, outside."""
        if self.workspace is not None:
            await self._edit_file(self.workspace)

    async def _edit_file(self, workspace: Workspace) -> None:
        from tui_chat.ui.dialogs.file_questions import confirm_edit_again
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        try:
            before = text = workspace.presets.text()
            while True:
                text = await edit_in_editor(self, text, "preset.json")
                if text == before:
                    return
                try:
                    workspace.presets.edit_text(text)
                except InputError as fault:
                    if not await confirm_edit_again(self, fault):
                        return
                else:
                    return
        except InputError as fault:
            self.show_error(fault)

    @work(group="dialog", exclusive=True)
    async def on_preset_pane_content_requested(self, event: PresetPane.ContentRequested) -> None:
        """Edit a message's content, outside."""
        from tui_chat.models.text import clean
        from tui_chat.ui.terminal.external_programs import edit_in_editor

        try:
            before = event.message.content
            text = clean(await edit_in_editor(self, before))
            pane = self.panes.presets
            if text != before and pane is not None and not pane.rewrite(event.message, text):
                raise InputError("The message is no longer there.", advice="Its text was: " + text)
        except InputError as fault:
            self.show_error(fault)
