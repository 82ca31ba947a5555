"""Sessions: opening, beginning, renaming and deleting them."""

from __future__ import annotations

from textual import on, work

from tui_chat.model.session import SessionSummary
from tui_chat.ui.acting.choosing import Choosing
from tui_chat.ui.sidebar import SessionList


class Sessions(Choosing):
    """Answers the sidebar."""

    @on(SessionList.Opened)
    @work(group="open", exclusive=True)
    async def _open(self, event: SessionList.Opened) -> None:
        if self.desk is not None:
            await self.keep_draft()
            await self.desk.open(event.session_id)
            await self.bring_draft()
            self._after_choosing_session()

    @on(SessionList.NewRequested)
    def _new_requested(self) -> None:
        self.action_new()

    @work(group="dialog", exclusive=True)
    async def action_new(self) -> None:
        """Begin a new chat; where there are several roles, ask for one."""
        from tui_chat.ui.questions import ask_role

        await self._laid.wait()
        desk = self.desk
        if desk is None:
            return
        role_id: str | None = None
        if sum(role.status == "enabled" for role in desk.roles) > 1:
            role_id = await ask_role(self, desk, "Begin a session with which role?")
            if role_id is None:
                return
        await self.begin(role_id)

    def _after_choosing_session(self) -> None:
        if self._panes.is_narrow:
            self._panes.close_overlay()
        self._composer.focus()

    @on(SessionList.RenameRequested)
    @work(group="dialog", exclusive=True)
    async def _rename(self, event: SessionList.RenameRequested) -> None:
        from tui_chat.ui.questions import ask_title

        session = self._listed(event.session_id)
        if self.desk is not None and session is not None:
            title = await ask_title(self, session.title)
            if title:
                await self.desk.rename(event.session_id, title)

    @on(SessionList.DeleteRequested)
    @work(group="dialog", exclusive=True)
    async def _delete(self, event: SessionList.DeleteRequested) -> None:
        from tui_chat.ui.questions import may_delete

        session = self._listed(event.session_id)
        if self.desk is not None and session is not None and await may_delete(self, session):
            await self.desk.delete((event.session_id,))
            await self.bring_draft()

    def _listed(self, session_id: str) -> SessionSummary | None:
        sessions = self.desk.sessions if self.desk else ()
        return next((s for s in sessions if s.session_id == session_id), None)
