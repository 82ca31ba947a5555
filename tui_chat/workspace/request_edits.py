"""Edits of the request by hand: made at places of the request that is shown, kept with the session.

1. Only the request that Enter would send, or a kind of reply, can be edited: not one that was
   sent, a preview in another protocol, or the request for a summary.
2. An edit holds for every request of the session (`kept`), or for that one: the next one, or the
   reply to a stored message. It stays until its request has been stored and leaves.
3. A new chat's edits are kept as its draft is, and go into its session.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tui_chat.compose import Composed
from tui_chat.edited_request import refusal
from tui_chat.errors import InputError
from tui_chat.models.boundary import pack
from tui_chat.models.json_text import to_json
from tui_chat.models.request_edit import (
    BodyPath,
    EditedBody,
    Edits,
    Operation,
    RequestEdit,
    changed_edits,
    locate,
)
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done
from tui_chat.workspace.requests import answered_id
from tui_chat.workspace.settings import NEW_CHAT_EDITS


class RequestEdits:
    """Edits the request of the active session."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core

    def require_editable(self) -> Composed:
        """Return the request that is shown. Raises InputError if it cannot be edited."""
        state = self.core.state
        request, composed = state.request, state.request.shown
        if request.viewed is not None and request.viewed.source is not None:
            raise InputError(
                "A captured request is shown as it came and cannot be edited.",
                advice="/keep-captured makes a session of it, whose request is edited.",
            )
        if request.viewed is not None:
            raise InputError(
                "This request cannot be edited: it was sent already.",
                advice="Esc shows the request that Enter would send.",
            )
        if composed is None or composed.inputs is None:
            raise InputError("There is no request to edit.")
        if request.kind == "summary":
            raise InputError("This request is not part of the conversation, so it can't be edited.")
        if composed.protocol is not state.endpoint.protocol:
            own = state.endpoint.protocol.label
            raise InputError(
                f"This is a preview in {composed.protocol.label}; Enter sends {own}.",
                advice=f"Choose {own} to edit what is sent.",
            )
        return composed

    def is_kept(self, path: BodyPath) -> bool:
        """Return True if the value at a path of the request shown is edited for all requests."""
        composed = self.core.state.request.shown
        body = composed.edited if composed is not None else None
        result = locate(body, path)[0] if body is not None else None
        return result is not None and result.edit.kept

    # --- use cases -----------------------------------------------------------------------

    @reported(False)
    async def change(
        self, operation: Operation, path: BodyPath, value: object = None, *, kept: bool = False
    ) -> bool:
        """Set or remove the value at a path of the request that is shown, or add a key, or an
        element behind that of the path; see `RequestEdit.path`.
        """
        composed = self.require_editable()
        assert composed.inputs is not None
        tree = composed.encoded.tree
        body = composed.edited or EditedBody(tree, tree)
        here = composed.inputs.edits
        others = tuple(edit for edit in self.core.state.edits if edit not in here)
        answered = self._answered
        text = "" if operation == "remove" else to_json(value)
        new = RequestEdit(composed.protocol, path, operation, text, kept)
        after = tuple(
            edit if edit.kept or edit in here else replace(edit, answered=answered)
            for edit in changed_edits(here, body, new)
        )
        for edit in after:
            if edit not in here and (fault := refusal(edit)):
                raise InputError(f"{fault[:1].upper()}{fault[1:]}.")
        await self._store((*others, *after))
        return True

    @reported(None)
    async def discard(self, edits: Sequence[RequestEdit]) -> None:
        """Take edits back."""
        await self._store(tuple(edit for edit in self.core.state.edits if edit not in edits))

    @reported(None)
    async def keep(self, edit: RequestEdit, *, kept: bool) -> None:
        """Let an edit hold for every request of the session, or for this one only."""
        answered = "" if kept else self._answered
        changed = replace(edit, kept=kept, answered=answered)
        edits = self.core.state.edits
        await self._store(tuple(changed if other == edit else other for other in edits))

    @reported(None)
    async def discard_all(self) -> None:
        """Take all edits of the session back."""
        count = len([edit for edit in self.core.state.edits if edit.kept or not edit.answered])
        if not self.core.state.edits:
            raise InputError("Nothing is edited by hand.")
        await self._store(())
        edits = "edit" if count == 1 else "edits"
        self.core.publish(Done(f"Removed {count:,} {edits} by hand." if count else "Removed."))

    @reported(None)
    async def undo(self) -> None:
        """Take the last edit of the request that is shown back."""
        last: RequestEdit | None = None
        with suppress(InputError):
            composed = self.require_editable()
            assert composed.inputs is not None
            own = [edit for edit in composed.inputs.edits if edit.protocol is composed.protocol]
            last = next((edit for edit in reversed(own) if edit in self.core.state.edits), None)
        if last is None:
            raise InputError("Nothing to undo.")
        await self._store(tuple(edit for edit in self.core.state.edits if edit != last))
        self.core.publish(Done(f"Removed the edit by hand of {last.pointer}."))

    # --- changing ------------------------------------------------------------------------

    @property
    def _answered(self) -> str:
        """The stored message that the request shown answers; empty for what is typed."""
        composed = self.core.state.request.shown
        inputs = composed.inputs if composed is not None else None
        if inputs is None or not inputs.history:
            return ""
        if self.core.state.request.kind != "normal":
            return inputs.history[-1].id
        return answered_id(inputs.draft, inputs.history, inputs.draft_parts)

    async def _store(self, edits: Edits) -> None:
        core = self.core
        core.update(edits=edits)
        if core.state.session is None:
            await core.remember(NEW_CHAT_EDITS, pack(edits) if edits else "")
        await core.change_session(edits=edits)
