"""`tui-chat sessions show`, `rename`, `tag`, `archive`, `delete` and `fork`."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tui_chat.cli import output
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import finish, write_export, write_json, write_line, write_text
from tui_chat.cli.workspace import command_workspace, find_session
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.models.setting_json import settings_json
from tui_chat.workspace.exporter import exported_texts

if TYPE_CHECKING:
    from tui_chat.cli.workspace import Failures
    from tui_chat.models.session import Entry, SessionSummary
    from tui_chat.workspace.workspace import Workspace


@asynccontextmanager
async def _listed(common: CommonOptions) -> AsyncGenerator[tuple[Workspace, Failures]]:
    """Open a workspace whose list of sessions is complete."""
    async with command_workspace(common.config(), create=False) as (workspace, failures):
        await workspace.sessions.refresh_list_if_changed()
        yield workspace, failures


def _found(sessions: Sequence[SessionSummary], names: Sequence[str]) -> dict[str, SessionSummary]:
    """Return the sessions with these names by their ids. Raises InputError for an unknown one."""
    found = [find_session(sessions, name) for name in names]
    return {each.session_id: each for each in found}


def _titles(sessions: Sequence[SessionSummary]) -> str:
    return ", ".join(f"“{one_line(each.title, 60)}”" for each in sessions)


def show(common: CommonOptions, name: str, *, as_json: bool) -> None:
    """Print a session. Raises InputError for an unknown one, and StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            summary = find_session(workspace.state.sessions, name)
            if as_json:
                await workspace.sessions.activate(summary.session_id)
                failures.warn()
                write_json(_session_json(workspace, summary))
                return
            zone = datetime.now().astimezone().tzinfo
            assert zone is not None  # astimezone sets it
            texts = exported_texts(workspace.store, [summary.session_id], "markdown", zone)
            _print_markdown([text async for text in texts])

    asyncio.run(run())


def _print_markdown(texts: Sequence[str]) -> None:
    if not output.is_terminal() or os.environ.get("TERM", "dumb") == "dumb":
        for text in texts:
            write_export(text)
        finish()
        return
    from tui_chat.cli.markdown_output import MarkdownOutput

    size = shutil.get_terminal_size()
    target = MarkdownOutput(size.columns, size.lines, colour=not os.environ.get("NO_COLOR"))
    write_text(target.whole("".join(texts)))


def _session_json(workspace: Workspace, summary: SessionSummary) -> dict[str, Any]:
    state = workspace.state
    return {
        **summary._asdict(),
        "preset": state.preset_name,
        "profile": state.profile_name,
        "lorebooks": list(state.lorebook_names),
        "settings": settings_json(state.settings),
        "messages": [_entry_json(entry) for entry in state.entries],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    message = entry.message
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "timestamp": message.timestamp,
        "status": entry.status,
        **({"model": entry.model, "endpoint": entry.endpoint} if entry.model else {}),
        **({"error": entry.error} if entry.error else {}),
        **({"tool_call_id": message.tool_call_id} if message.tool_call_id else {}),
        **(
            {
                "tool_calls": [
                    {"id": each.id, "name": each.name, "arguments": each.arguments}
                    for each in message.tool_calls
                ]
            }
            if message.tool_calls
            else {}
        ),
    }


def rename(common: CommonOptions, name: str, title: str) -> None:
    """Rename a session. Raises InputError and StoreError."""
    if not title.strip():
        raise InputError("The title is empty.")

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            session = find_session(workspace.state.sessions, name)
            await workspace.organization.rename(session.session_id, title)
            failures.raise_first()
            after = await workspace.store.sessions.get(session.session_id)
            assert after is not None  # it was renamed
            write_line(f"{_titles([session])} is “{one_line(after.title)}” now.")

    asyncio.run(run())


def tag(
    common: CommonOptions, names: Sequence[str], add: Sequence[str], drop: Sequence[str]
) -> None:
    """Change tags of sessions, and print those that they have. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            found = _found(workspace.state.sessions, names)
            await workspace.organization.retag(tuple(found), add=add, drop=drop)
            failures.raise_first()
            for session in await workspace.store.sessions.list():
                if session.session_id in found:
                    tags = one_line(", ".join(session.tags)) or "no tags"
                    write_line(f"{_titles([session])}: {tags}")

    asyncio.run(run())


def archive(common: CommonOptions, names: Sequence[str], *, undo: bool) -> None:
    """Archive sessions, or take them out again. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            found = _found(workspace.state.sessions, names)
            await workspace.organization.organise(tuple(found), archived=not undo)
            failures.raise_first()
            done = "Taken out of the archive" if undo else "Archived"
            write_line(f"{done}: {_titles(tuple(found.values()))}.")

    asyncio.run(run())


def delete(common: CommonOptions, names: Sequence[str], *, undo: bool) -> None:
    """Move sessions to the trash, or bring them back. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            store = workspace.store.sessions
            if undo:
                found = _found(await store.list_trash(), names)
                await store.restore(tuple(found))
            else:
                found = _found(workspace.state.sessions, names)
                await workspace.organization.delete(tuple(found))
                failures.raise_first()
            titles = _titles(tuple(found.values()))
            if undo:
                write_line(f"Brought back {titles}.")
            else:
                write_line(f"Deleted {titles}. For 30 days `sessions delete --undo` undoes it.")

    asyncio.run(run())


def fork(common: CommonOptions, name: str, message_id: str, title: str) -> None:
    """Copy a branch into a new session, and print its id. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            session = find_session(workspace.state.sessions, name)
            await workspace.sessions.activate(session.session_id)
            entries = workspace.state.entries
            ids = [entry.message.id for entry in entries]
            if not ids:
                raise InputError("The session has no messages.")
            if message_id and message_id not in ids:
                raise InputError(
                    f"There is no message “{one_line(message_id, 80)}” on the session's branch.",
                    advice="`sessions show --json` has the ids.",
                )
            await workspace.branches.fork(message_id or ids[-1], title)
            failures.raise_first()
            write_line(workspace.state.session_id)

    asyncio.run(run())
