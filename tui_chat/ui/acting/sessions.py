"""Sessions: opening and beginning them, and putting them in order."""

from __future__ import annotations

from collections.abc import Collection

from textual import on, work

from tui_chat.models.session import SessionSummary
from tui_chat.ui.acting.choosing import Choosing
from tui_chat.ui.sidebar import SessionList


class Sessions(Choosing):
    """Answers the sidebar."""

    @on(SessionList.Opened)
    @work(group="open", exclusive=True)
    async def _open(self, event: SessionList.Opened) -> None:
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.sessions.open(event.session_id))
            self._after_choosing_session()

    @on(SessionList.NewRequested)
    def _new_requested(self) -> None:
        self.action_new()

    @work(group="dialog", exclusive=True)
    async def action_new(self) -> None:
        """Begin a new chat; where there are several roles, ask for one."""
        from tui_chat.ui.dialogs.questions import ask_role

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None:
            return
        role_id: str | None = None
        if sum(role.status == "enabled" for role in workspace.state.roles) > 1:
            role_id = await ask_role(self, workspace, "Begin a session with which role?")
            if role_id is None:
                return
        await self.begin(role_id)

    def _after_choosing_session(self) -> None:
        if self.panes.is_narrow:
            self.panes.close_overlay()
        self._composer.focus()

    @on(SessionList.RenameRequested)
    @work(group="dialog", exclusive=True)
    async def _rename(self, event: SessionList.RenameRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_title

        sessions = self._listed((event.session_id,))
        if self.workspace is not None and sessions:
            title = await ask_title(self, sessions[0].title)
            if title:
                await self.workspace.sessions.rename(event.session_id, title)

    @on(SessionList.DeleteRequested)
    @work(group="organise")
    async def _delete(self, event: SessionList.DeleteRequested) -> None:
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.sessions.delete(event.session_ids))

    @on(SessionList.UndoRequested)
    @work(group="organise")
    async def action_bring_back(self) -> None:
        """Bring back what was deleted or archived last."""
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.undo())

    @on(SessionList.MarkRequested)
    @work(group="organise")
    async def _mark(self, event: SessionList.MarkRequested) -> None:

        if self.workspace is None:
            return
        await self.workspace.sessions.organise(
            event.session_ids,
            pinned=event.pinned,
            archived=event.archived,
            unread=event.unread,
        )

    @on(SessionList.TagsRequested)
    @work(group="dialog", exclusive=True)
    async def _tag(self, event: SessionList.TagsRequested) -> None:
        """Ask for the tags that all of the sessions have; what only some have stays."""
        from tui_chat.ui.dialogs.questions import ask_tags

        sessions = self._listed(event.session_ids)
        if self.workspace is None or not sessions:
            return
        shared = [tag for tag in sessions[0].tags if all(tag in s.tags for s in sessions)]
        tags = await ask_tags(self, shared)
        if tags is not None and tags != tuple(shared):
            await self.workspace.sessions.retag(event.session_ids, add=tags, drop=shared)

    @on(SessionList.FolderRequested)
    @work(group="dialog", exclusive=True)
    async def _file(self, event: SessionList.FolderRequested) -> None:
        from tui_chat.ui.dialogs.questions import ask_folder

        sessions = self._listed(event.session_ids)
        if self.workspace is None or not sessions:
            return
        folders = sorted({each.folder for each in self.workspace.state.sessions if each.folder})
        folder = await ask_folder(self, folders, sessions[0].folder)
        if folder is not None:
            await self.workspace.sessions.organise(event.session_ids, folder=folder)

    def _listed(self, session_ids: Collection[str]) -> list[SessionSummary]:
        sessions = self.workspace.state.sessions if self.workspace else ()
        return [session for session in sessions if session.session_id in session_ids]
