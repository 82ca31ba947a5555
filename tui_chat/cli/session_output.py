"""`tui-chat sessions list` and `tui-chat search`, as text or JSON."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from tui_chat.cli import output
from tui_chat.cli.app import open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import Styled, is_terminal, write_json, write_line
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.models.search import Hit, Query
    from tui_chat.models.session import SessionSummary


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
    sessions = asyncio.run(_sessions(common, filters))
    if as_json:
        write_json([session._asdict() for session in sessions])
    elif sessions:
        write_line(table(sessions))
    else:
        write_line("No sessions.", err=True)


async def _sessions(common: CommonOptions, filters: Filters) -> list[SessionSummary]:
    async with open_store(common) as store:
        listed = store.sessions.list_trash() if filters.deleted else store.sessions.list()
        return filters.apply(await listed)


def table(sessions: Sequence[SessionSummary]) -> str:
    """Return the sessions as a table; on a terminal it is cut to the width."""
    head = ("ID", "TITLE", "ROLE", "MODEL", "MESSAGES", "TOKENS", "STATUS", "UPDATED")
    width = _id_length(sessions)
    rows = [head, *(_row(session, width) for session in sessions)]
    return output.table(rows, (1, 20), (3, 12), (2, 8))


def _row(session: SessionSummary, width: int) -> tuple[str, ...]:
    at = datetime.fromtimestamp(session.updated, UTC).astimezone()
    return (
        session.session_id[:width],
        one_line(session.title) or "—",
        one_line(session.role_name),
        one_line(session.model),
        str(session.message_count),
        str(session.total_tokens),
        session.status,
        at.strftime("%Y-%m-%d %H:%M"),
    )


def _id_length(sessions: Sequence[SessionSummary]) -> int:
    """Return how many characters of their ids distinguish these sessions."""
    ids = sorted(session.session_id for session in sessions)
    width = 8
    for one, next_one in pairwise(ids):
        while one[:width] == next_one[:width] and width < len(one):
            width += 1
    return width


def run_search(common: CommonOptions, query: Query, *, as_json: bool) -> bool:
    """Print the hits; return False if there are none. Raises StoreError and InputError."""
    hits = asyncio.run(_search(common, query))
    if as_json:
        write_json([asdict(hit) for hit in hits])
    else:
        _print_hits(hits)
    return bool(hits)


async def _search(common: CommonOptions, query: Query) -> Sequence[Hit]:
    async with open_store(common) as store:
        return await store.search.find(query)


def _print_hits(hits: Sequence[Hit]) -> None:
    """Print the hits, grouped by session."""
    colour = is_terminal() and not os.environ.get("NO_COLOR")
    sessions: dict[str, list[Hit]] = {}
    for hit in hits:
        sessions.setdefault(hit.session_id, []).append(hit)
    for number, (session_id, found) in enumerate(sessions.items()):
        if number:
            write_line()
        title = one_line(found[0].title) or "—"
        write_line(Styled(title, bold=True), f"  {session_id}")
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
