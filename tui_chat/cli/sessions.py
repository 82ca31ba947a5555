"""`tui-chat search`, and `tui-chat sessions` with `list`, `show`, `rename`, `tag`, `archive`,
`delete` and `fork`, as text or JSON.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tui_chat.cli import output
from tui_chat.cli.app import open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import (
    Styled,
    is_terminal,
    write_json,
    write_line,
    write_markdown,
)
from tui_chat.cli.workspace import (
    command_workspace,
    find_session,
    named_session,
    short_ids,
)
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.setting_json import settings_json
from tui_chat.workspace.exporter import exported_texts

if TYPE_CHECKING:
    from tui_chat.cli.workspace import Failures
    from tui_chat.models.request import RequestRecord
    from tui_chat.models.search import Hit, Query
    from tui_chat.models.session import Entry, SessionSummary
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that listed sessions meet; an empty one is not checked."""

    role: str = ""
    model: str = ""
    endpoint: str = ""
    tag: str = ""
    folder: str = ""
    title: str = ""
    """Text that the title contains."""
    archived: bool = False
    """True to include archived sessions."""
    deleted: bool = False
    """True for sessions in the trash, and only those."""
    limit: int | None = None

    def apply(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Return the sessions that meet the conditions, in the same order."""
        found = [session for session in sessions if self._matches(session)]
        return found if self.limit is None else found[: self.limit]

    def _matches(self, session: SessionSummary) -> bool:
        return (
            (session.deleted is not None) == self.deleted
            and (self.archived or not session.archived or self.deleted)
            and _same(self.role, session.role_name)
            and _same(self.model, session.model)
            and _same(self.endpoint, session.endpoint)
            and _same(self.folder, session.folder)
            and (not self.tag or any(_same(self.tag, tag) for tag in session.tags))
            and self.title.casefold() in session.title.casefold()
        )


def _same(wanted: str, found: str) -> bool:
    return not wanted or wanted.casefold() == found.casefold()


def run_list(common: CommonOptions, filters: Filters, *, as_json: bool) -> None:
    """Print the sessions, newest first. Raises StoreError and InputError."""
    sessions, ids = asyncio.run(_sessions(common, filters))
    if as_json:
        write_json([session._asdict() for session in sessions])
    elif sessions:
        write_line(table(sessions, ids))
    else:
        write_line("No sessions.", err=True)


async def _sessions(
    common: CommonOptions, filters: Filters
) -> tuple[list[SessionSummary], dict[str, str]]:
    """Return the sessions that meet the conditions, and the short form of each id."""
    async with open_store(common) as store:
        listed = store.sessions.list_trash() if filters.deleted else store.sessions.list()
        return filters.apply(await listed), await short_ids(store)


def table(sessions: Sequence[SessionSummary], ids: Mapping[str, str]) -> str:
    """Return the sessions as a table; on a terminal it is cut to the width."""
    head = ("ID", "TITLE", "ROLE", "MODEL", "MESSAGES", "TOKENS", "STATUS", "UPDATED")
    rows = [head, *(_row(session, ids[session.session_id]) for session in sessions)]
    return output.table(rows, (1, 20), (3, 12), (2, 8))


def _row(session: SessionSummary, short_id: str) -> tuple[str, ...]:
    at = datetime.fromtimestamp(session.updated, UTC).astimezone()
    return (
        short_id,
        one_line(session.title) or "—",
        one_line(session.role_name),
        one_line(session.model),
        str(session.message_count),
        str(session.total_tokens),
        session.status,
        at.strftime("%Y-%m-%d %H:%M"),
    )


def run_search(common: CommonOptions, query: Query, *, as_json: bool) -> bool:
    """Print the hits; return False if there are none. Raises StoreError and InputError."""
    hits, ids = asyncio.run(_search(common, query))
    if as_json:
        write_json([asdict(hit) for hit in hits])
    else:
        _print_hits(hits, ids)
    return bool(hits)


async def _search(common: CommonOptions, query: Query) -> tuple[Sequence[Hit], dict[str, str]]:
    """Return the hits, and the short form of each session's id."""
    async with open_store(common) as store:
        return await store.search.find(query), await short_ids(store)


def _print_hits(hits: Sequence[Hit], ids: Mapping[str, str]) -> None:
    """Print the hits, grouped by session."""
    colour = is_terminal() and not os.environ.get("NO_COLOR")
    sessions: dict[str, list[Hit]] = {}
    for hit in hits:
        sessions.setdefault(hit.session_id, []).append(hit)
    for number, (session_id, found) in enumerate(sessions.items()):
        if number:
            write_line()
        title = one_line(found[0].title) or "—"
        write_line(Styled(title, bold=True), f"  {ids[session_id]}")
        for hit in found:
            at = datetime.fromtimestamp(hit.created, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
            where = hit.message_role or "title" if hit.place == "text" else hit.place
            write_line(f"  {at}  {where:<9}  ", *highlighted(hit, colour))


def highlighted(hit: Hit, colour: bool) -> list[str | Styled]:
    """Return the snippet in parts, with its matches in color or in square brackets."""
    parts: list[str | Styled] = []
    done = 0
    for start, end in hit.marks:
        word = hit.snippet[start:end]
        parts += [hit.snippet[done:start], Styled(word, "yellow", True) if colour else f"[{word}]"]
        done = end
    return [*parts, hit.snippet[done:]]


@asynccontextmanager
async def _listed(common: CommonOptions) -> AsyncGenerator[tuple[Workspace, Failures]]:
    """Open a workspace whose list of sessions is complete."""
    async with command_workspace(common.config(), create=False) as (workspace, failures):
        await workspace.sessions.refresh_list_if_changed()
        yield workspace, failures


async def _found(store: Store, names: Sequence[str]) -> dict[str, SessionSummary]:
    """Return the sessions with these names by their ids. Raises InputError for an unknown one."""
    found = [await named_session(store, name) for name in names]
    return {each.session_id: each for each in found}


def _titles(sessions: Sequence[SessionSummary]) -> str:
    return ", ".join(f"“{one_line(each.title, 60)}”" for each in sessions)


def show(common: CommonOptions, name: str | None, *, as_json: bool) -> None:
    """Print a session; None for the last one. Raises InputError, and StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            summary = await named_session(workspace.store, name)
            if as_json:
                await workspace.sessions.activate(summary.session_id)
                failures.warn()
                sent = await workspace.store.requests.list(summary.session_id)
                recorded = {e.message_id: e.request for e in sent if e.request.is_recorded}
                write_json(_session_json(workspace, summary, recorded))
                return
            zone = datetime.now().astimezone().tzinfo
            assert zone is not None  # astimezone sets it
            texts = exported_texts(
                workspace.store, [summary.session_id], "markdown", zone, workspace.library
            )
            write_markdown([text async for text in texts])

    asyncio.run(run())


def _session_json(
    workspace: Workspace, summary: SessionSummary, recorded: Mapping[str, RequestRecord]
) -> dict[str, Any]:
    state = workspace.state
    return {
        **summary._asdict(),
        "preset": state.preset_name,
        "profile": state.profile_name,
        "lorebooks": list(state.lorebook_names),
        "settings": settings_json(state.settings),
        "messages": [_entry_json(entry, recorded.get(entry.message.id)) for entry in state.entries],
    }


def _request_json(record: RequestRecord) -> dict[str, Any]:
    """Return what was recorded of a request, without its body, which `export` has."""
    headers = record.recipe.get("headers")
    return {
        "protocol": record.protocol.value,
        "method": record.method,
        "url": record.url or None,
        "headers": headers,
        "sha256": record.sha256,
        "is_masked": record.recipe.get("masked") is True,
    }


def _entry_json(entry: Entry, request: RequestRecord | None) -> dict[str, Any]:
    message = entry.message
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "timestamp": message.timestamp,
        "status": entry.status,
        **({"model": entry.model, "endpoint": entry.endpoint} if entry.model else {}),
        **({"error": entry.error} if entry.error else {}),
        **({"request": _request_json(request)} if request is not None else {}),
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
            session = await named_session(workspace.store, name)
            await workspace.organization.rename(session.session_id, title)
            failures.raise_first()
            after = await workspace.store.sessions.get(session.session_id)
            assert after is not None  # it was renamed
            write_line(f"Renamed {_titles([session])} to “{one_line(after.title)}”.")

    asyncio.run(run())


def tag(
    common: CommonOptions, names: Sequence[str], add: Sequence[str], drop: Sequence[str]
) -> None:
    """Change tags of sessions, and print those that they have. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            found = await _found(workspace.store, names)
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
            found = await _found(workspace.store, names)
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
                trash = await store.list_trash()
                found = {e.session_id: e for e in (find_session(trash, name) for name in names)}
                await store.restore(tuple(found))
            else:
                found = await _found(workspace.store, names)
                await workspace.organization.delete(tuple(found))
                failures.raise_first()
            titles = _titles(tuple(found.values()))
            if undo:
                write_line(f"Restored {titles}.")
            else:
                ids = " ".join(found)
                write_line(
                    f"Moved {titles} to the trash. To restore within 30 days: "
                    f"tui-chat sessions delete --undo {ids}"
                )

    asyncio.run(run())


def fork(common: CommonOptions, name: str, message_id: str, title: str) -> None:
    """Copy a branch into a new session, and print its id. Raises InputError, StoreError."""

    async def run() -> None:
        async with _listed(common) as (workspace, failures):
            session = await named_session(workspace.store, name)
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
