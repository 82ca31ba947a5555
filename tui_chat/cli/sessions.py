"""`tui-chat sessions list`: the sessions there are, for people and for programs."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from tui_chat.cli.open_store import open_store
from tui_chat.cli.output import write_json, write_line
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.models.session import SessionSummary


@dataclass(frozen=True, slots=True)
class Filters:
    """Which sessions are wanted; what is empty asks for nothing."""

    role: str = ""
    model: str = ""
    endpoint: str = ""
    tag: str = ""
    folder: str = ""
    title: str = ""
    """Words that the title has."""
    archived: bool = False
    """Archived ones too."""
    deleted: bool = False
    """Those in the trash, and only those."""
    limit: int | None = None

    def take(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Return those that are wanted, in their order."""
        wanted = [session for session in sessions if self._wants(session)]
        return wanted if self.limit is None else wanted[: self.limit]

    def _wants(self, session: SessionSummary) -> bool:
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


def run_list(settings: Mapping[str, object], filters: Filters, *, as_json: bool) -> None:
    """Print the sessions, newest first. Raises StoreError and InputError."""
    sessions = asyncio.run(_sessions(settings, filters))
    if as_json:
        told = [session._asdict() for session in sessions]
        write_json(told)
    elif sessions:
        write_line(table(sessions))
    else:
        write_line("No sessions.", err=True)


async def _sessions(settings: Mapping[str, object], filters: Filters) -> list[SessionSummary]:
    async with open_store(settings) as store:
        listed = store.sessions.list_trash() if filters.deleted else store.sessions.list()
        return filters.take(await listed)


def table(sessions: Sequence[SessionSummary]) -> str:
    """Return the sessions as a table as wide as the terminal; piped, nothing is cut."""
    from rich.cells import cell_len, set_cell_size

    head = ("ID", "TITLE", "ROLE", "MODEL", "MESSAGES", "TOKENS", "STATUS", "UPDATED")
    width = _enough(sessions)
    rows = [head, *(_row(session, width) for session in sessions)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(head))]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        for column, least in ((1, 20), (3, 12), (2, 8)):  # the widest may give way first
            over = sum(widths) + 2 * (len(widths) - 1) - room
            widths[column] -= max(0, min(over, widths[column] - least))
    return "\n".join("  ".join(map(set_cell_size, row, widths)).rstrip() for row in rows)


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


def _enough(sessions: Sequence[SessionSummary]) -> int:
    """Return how many characters of an id tell these sessions apart."""
    ids = sorted(session.session_id for session in sessions)
    width = 8
    for one, next_one in pairwise(ids):
        while one[:width] == next_one[:width] and width < len(one):
            width += 1
    return width
