"""“Show the branches of this conversation”: opens the tree, and goes to the chosen message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import NotYet
from tui_chat.plugins.tree.screen import RequestComparison, TreeScreen

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace


async def show_tree(app: TuiChat, words: str) -> None:
    """Show all branches of the active session, and go where the user chooses. `words` are searched
    for.
    """
    workspace = await app.main.opened_workspace()
    await workspace.sessions.branch_loaded()
    if workspace.state.session is None:
        raise NotYet("There is no message in this session yet.")
    current = app.chat.transcript.current
    screen = TreeScreen(
        app,
        workspace,
        await workspace.branches.tree(),
        current.message.id if current is not None else "",
        words,
    )
    chosen = await app.push_screen_wait(screen)
    if isinstance(chosen, RequestComparison):
        await jump(workspace, chosen.shown_id)
        workspace.requests.return_to_live()  # an imported session shows none at first
        app.panes.show_area(app.inspector)
        await app.run_action(f"inspector.compare({f'branch {chosen.base_id}'!r})")
    elif chosen is not None:
        await jump(workspace, chosen)
        app.panes.show_message(chosen)


async def jump(workspace: Workspace, message_id: str) -> None:
    """Make the branch of a message the active one; it stays as it is if it has the message."""
    if all(entry.message.id != message_id for entry in workspace.state.entries):
        await workspace.branches.show(message_id)
