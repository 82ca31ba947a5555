"""The actions that edit the request by hand, as a namespace of the app: `request_edits.NAME`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from tui_chat.errors import InputError
from tui_chat.models.request_edit import json_pointer

if TYPE_CHECKING:
    from tui_chat.models.edited_body import EditResult
    from tui_chat.ui.inspector.area import InspectorArea
    from tui_chat.ui.inspector.edit_place import EditPlace
    from tui_chat.workspace.workspace import Workspace


class RequestEditActions(DOMNode):
    """Edits what the cursor of the payload is on, and what the view of notes lists."""

    def __init__(self, area: InspectorArea) -> None:
        super().__init__()
        self._area = area

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what changes something in a read-only app."""
        if self._area.context.read_only and action != "show":
            return None
        return super().check_action(action, parameters)

    def action_begin(self) -> None:
        """Go to the body, and say which keys edit it."""

        async def begin(workspace: Workspace) -> None:
            workspace.request_edits.require_editable()
            self._area.show_payload()
            self._area.notify("Move to a value: e edits it, a adds one after it, d leaves it out.")

        self._run(begin, "edit request")

    def action_edit(self) -> None:
        """Edit the value under the cursor."""
        self._run(self._edit, "edit request")

    async def _edit(self, workspace: Workspace) -> None:
        from tui_chat.ui.dialogs.request_edits import RequestEditForm

        place = self._place(workspace)
        is_kept = workspace.request_edits.is_kept(place.path)
        form = RequestEditForm(place, place.written, is_kept=is_kept)
        answer = await self._area.tui.push_screen_wait(form)
        if answer is not None and await workspace.request_edits.set_value(
            place.path, answer.value, kept=answer.kept
        ):
            self._say(f"{place.pointer} is edited", answer.kept)

    def action_add(self) -> None:
        """Add a key or an element at the cursor."""
        self._run(self._add, "add to the request")

    async def _add(self, workspace: Workspace) -> None:
        from tui_chat.ui.dialogs.request_edits import RequestEditForm

        place = self._place(workspace, adds=True)
        form = RequestEditForm(place, place.new_value(), adds=True)
        answer = await self._area.tui.push_screen_wait(form)
        if answer is not None:
            *holder, last = place.new_path
            path = (*holder, answer.key or last)
            if await workspace.request_edits.add_value(path, answer.value, kept=answer.kept):
                self._say(f"{json_pointer(path)} is added", answer.kept)

    def _say(self, what: str, is_kept: bool) -> None:
        scope = "every request of this session" if is_kept else "the next request"
        self._area.notify(f"{what} in {scope}. u undoes it.", markup=False)

    def action_remove(self) -> None:
        """Leave what the cursor is on out of the request: on its first line a whole turn."""

        async def remove(workspace: Workspace) -> None:
            place = self._place(workspace)
            if await workspace.request_edits.remove_value(place.path):
                self._area.notify(f"{place.pointer} is not sent. u undoes it.", markup=False)

        self._run(remove, "remove from the request")

    def action_undo(self) -> None:
        """Take the last edit back."""
        self._run(lambda workspace: workspace.request_edits.undo(), "undo edit")

    def _place(self, workspace: Workspace, *, adds: bool = False) -> EditPlace:
        """Return the place of the cursor. Raises InputError if it cannot be edited."""
        workspace.request_edits.require_editable()
        pane = self._area.pane
        place = pane.views.payload.edit_place if pane is not None else None
        if place is None:
            raise InputError("There is no request to edit.")
        if not (place.path or adds):
            advice = "Move to a value in it, or add one with a."
            raise InputError("This is the request as a whole.", advice=advice)
        return place

    # --- all edits -------------------------------------------------------------------------

    def action_show(self, pointer: str) -> None:
        """Go to the place of an edit."""

        async def show(workspace: Workspace) -> None:
            self._area.show_payload(self._result(workspace, pointer).pointer)

        self._run(show, "show an edit")

    def action_remove_one(self, pointer: str) -> None:
        """Take an edit back."""

        async def remove(workspace: Workspace) -> None:
            await workspace.request_edits.discard((self._result(workspace, pointer).edit,))

        self._run(remove, "remove an edit")

    def action_remove_all(self) -> None:
        """Take all edits of the session back."""
        self._run(lambda workspace: workspace.request_edits.discard_all(), "remove edits")

    def _results(self, workspace: Workspace) -> tuple[EditResult, ...]:
        composed = workspace.state.request.shown
        edited = composed.edited if composed is not None else None
        return () if edited is None else tuple(edited.results)

    def _result(self, workspace: Workspace, pointer: str) -> EditResult:
        """Return what became of the edit of a pointer. Raises InputError if it is gone."""
        results = self._results(workspace)
        result = next((each for each in results if each.edit.pointer == pointer), None)
        if result is None:
            raise InputError("This edit is gone.")
        return result

    def _run(self, work: Callable[[Workspace], Awaitable[None]], description: str) -> None:
        async def run() -> None:
            await work(await self._area.host.opened_workspace())

        self._area.tui.run_worker(run, group="dialog", exclusive=True, description=description)
