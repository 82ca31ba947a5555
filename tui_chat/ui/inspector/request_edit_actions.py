"""The actions that edit the request by hand, as a namespace of the app: `request_edits.NAME`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from tui_chat.errors import InputError
from tui_chat.models.request_edit import json_pointer

if TYPE_CHECKING:
    from tui_chat.ui.areas.area import Area
    from tui_chat.ui.inspector.edit_place import EditPlace
    from tui_chat.workspace.workspace import Workspace

EDITED_NOTHING = "Nothing is edited by hand."


class RequestEditActions(DOMNode):
    """Edits what the cursor of the payload is on, and shows the list of edits."""

    def __init__(
        self,
        area: Area,
        place_at_cursor: Callable[[], EditPlace | None],
        show_payload: Callable[[str], None],
    ) -> None:
        """`show_payload` shows the body, at a JSON pointer unless that is empty."""
        super().__init__()
        self._area = area
        self._place_at_cursor = place_at_cursor
        self._show_payload = show_payload

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what changes something in a read-only app."""
        if self._area.context.read_only and action != "list":
            return None
        return super().check_action(action, parameters)

    # --- the value under the cursor --------------------------------------------------------

    def action_begin(self) -> None:
        """Go to the body, and say which keys edit it."""
        self._run(self._begin, "edit request")

    async def _begin(self, workspace: Workspace) -> None:
        workspace.request_edits.require_editable()
        self._show_payload("")
        self._area.notify("Move to a value: E edits it, A adds one after it, Delete removes it.")

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
        self._run(self._remove, "remove from the request")

    async def _remove(self, workspace: Workspace) -> None:
        place = self._place(workspace)
        if await workspace.request_edits.remove_value(place.path):
            self._area.notify(f"{place.pointer} is not sent. u brings it back.", markup=False)

    def action_undo(self) -> None:
        """Take the last edit back."""
        self._run(lambda workspace: workspace.request_edits.undo(), "undo edit")

    def _place(self, workspace: Workspace, *, adds: bool = False) -> EditPlace:
        """Return the place of the cursor. Raises InputError if it cannot be edited."""
        workspace.request_edits.require_editable()
        place = self._place_at_cursor()
        if place is None:
            raise InputError("There is no request to edit.")
        if not (place.path or adds):
            advice = "Move to a value in it, or add one with A."
            raise InputError("This is the request as a whole.", advice=advice)
        return place

    # --- all edits -------------------------------------------------------------------------

    def action_list(self) -> None:
        self._run(self._list, "list edits")

    async def _list(self, workspace: Workspace) -> None:
        from tui_chat.ui.dialogs.request_edits import EditListDialog

        index = 0
        while True:
            composed = workspace.state.request.shown
            body = composed.edited if composed is not None else None
            if body is None or not body.results:
                if index == 0:
                    self._area.notify(EDITED_NOTHING)
                return
            may_change = workspace.request_edits.is_editable and not self._area.context.read_only
            dialog = EditListDialog(body.results, index, may_change=may_change)
            answer = await self._area.tui.push_screen_wait(dialog)
            if answer is None:
                return
            index = answer.number
            result = body.results[index]
            match answer.act:
                case "show":
                    self._show_payload(result.pointer)
                    return
                case "remove":
                    await workspace.request_edits.discard((result.edit,))
                case "keep":
                    await workspace.request_edits.keep(result.edit, kept=not result.edit.kept)
            workspace.live_request.compose()

    def action_remove_all(self) -> None:
        """Take all edits of the session back."""
        self._run(lambda workspace: workspace.request_edits.discard_all(), "remove edits")

    def _run(self, work: Callable[[Workspace], Awaitable[None]], description: str) -> None:
        async def run() -> None:
            workspace = await self._area.host.opened_workspace()
            await work(workspace)

        self._area.tui.run_worker(
            partial(run), group="dialog", exclusive=True, description=description
        )
