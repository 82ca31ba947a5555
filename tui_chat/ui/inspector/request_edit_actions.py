"""The actions that edit the request by hand, which the app calls `request_edits.NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import InputError
from tui_chat.models.request_edit import json_pointer
from tui_chat.ui.area import Area

if TYPE_CHECKING:
    from tui_chat.models.request_edit import EditResult
    from tui_chat.ui.inspector.edit_place import EditPlace
    from tui_chat.workspace.request_edits import RequestEdits

EDITING = ("begin", "edit", "add", "remove", "undo", "remove_one", "remove_all")
"""The actions that change something."""


class RequestEditActions(Area):
    """Edits what the cursor of the payload is on, and what the view of notes lists."""

    @property
    def edit_place(self) -> EditPlace | None:
        """The value under the cursor of the payload; None without a request."""
        raise NotImplementedError

    def show_payload(self, pointer: str = "") -> None:
        """Show the body, at the place of a JSON pointer if there is one, and focus it."""
        raise NotImplementedError

    async def _edits(self) -> RequestEdits:
        return (await self.host.opened_workspace()).request_edits

    @work(group="dialog", exclusive=True, description="edit request")
    async def action_begin(self) -> None:
        """Go to the body, and say which keys edit it."""
        (await self._edits()).require_editable()
        self.show_payload()
        self.notify("Move to a value: e edits it, a adds one after it, d leaves it out.")

    @work(group="dialog", exclusive=True, description="edit request")
    async def action_edit(self) -> None:
        """Edit the value under the cursor."""
        from tui_chat.ui.dialogs.requests import RequestEditForm

        edits = await self._edits()
        place = self._place(edits)
        form = RequestEditForm(place, place.written, is_kept=edits.is_kept(place.path))
        answer = await self.tui.push_screen_wait(form)
        if answer is None:
            return
        if await edits.change("set", place.path, answer.value, kept=answer.kept):
            self._say(f"{place.pointer} is edited", answer.kept)

    @work(group="dialog", exclusive=True, description="add to the request")
    async def action_add(self) -> None:
        """Add a key or an element at the cursor."""
        from tui_chat.ui.dialogs.requests import RequestEditForm

        edits = await self._edits()
        place = self._place(edits, adds=True)
        form = RequestEditForm(place, place.new_value(), adds=True)
        answer = await self.tui.push_screen_wait(form)
        if answer is not None:
            *holder, last = place.new_path
            path = (*holder, answer.key or last)
            if await edits.change("add", path, answer.value, kept=answer.kept):
                self._say(f"{json_pointer(path)} is added", answer.kept)

    def _say(self, what: str, is_kept: bool) -> None:
        scope = "every request of this session" if is_kept else "the next request"
        self.notify(f"{what} in {scope}. u undoes it.", markup=False)

    @work(group="dialog", exclusive=True, description="remove from the request")
    async def action_remove(self) -> None:
        """Leave what the cursor is on out of the request: on its first line a whole turn."""
        edits = await self._edits()
        place = self._place(edits)
        if await edits.change("remove", place.path):
            self.notify(f"{place.pointer} is not sent. u undoes it.", markup=False)

    @work(group="dialog", exclusive=True, description="undo edit")
    async def action_undo(self) -> None:
        """Take the last edit back."""
        await (await self._edits()).undo()

    def _place(self, edits: RequestEdits, *, adds: bool = False) -> EditPlace:
        """Return the place of the cursor. Raises InputError if it cannot be edited."""
        edits.require_editable()
        place = self.edit_place
        if place is None:
            raise InputError("There is no request to edit.")
        if not (place.path or adds):
            advice = "Move to a value in it, or add one with a."
            raise InputError("This is the request as a whole.", advice=advice)
        return place

    # --- all edits -------------------------------------------------------------------------

    @work(group="dialog", exclusive=True, description="show an edit")
    async def action_show(self, pointer: str) -> None:
        """Go to the place of an edit."""
        self.show_payload(self._result(pointer).pointer)

    @work(group="dialog", exclusive=True, description="remove an edit")
    async def action_remove_one(self, pointer: str) -> None:
        """Take an edit back."""
        await (await self._edits()).discard((self._result(pointer).edit,))

    @work(group="dialog", exclusive=True, description="remove edits")
    async def action_remove_all(self) -> None:
        """Take all edits of the session back."""
        await (await self._edits()).discard_all()

    def _result(self, pointer: str) -> EditResult:
        """Return what became of the edit of a pointer. Raises InputError if it is gone."""
        composed = self.workspace.state.request.shown
        edited = composed.edited if composed is not None else None
        results = edited.results if edited is not None else ()
        result = next((each for each in results if each.edit.pointer == pointer), None)
        if result is None:
            raise InputError("This edit is gone.")
        return result
