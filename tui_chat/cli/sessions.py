"""`tui-chat sessions`: list, show and delete sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.export import local_zone
from tui_chat.cli.names import SHORT_ID, find_session, named_session
from tui_chat.cli.options import (
    json_option,
    last_or_session,
)
from tui_chat.cli.output import write_export, write_json, write_line, write_list
from tui_chat.cli.workspace import command_workspace
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.exports import exported_texts

if TYPE_CHECKING:
    from tui_chat.cli.workspace import Failures
    from tui_chat.models.session import SessionSummary
    from tui_chat.models.usage import CacheLoss
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace


@click.group()
def sessions() -> None:
    """List, show and delete sessions.

    A SESSION is an id, the start of one, or a title.
    """


@asynccontextmanager
async def _workspace(common: CommonOptions) -> AsyncGenerator[tuple[Workspace, Failures]]:
    """Open a workspace whose list of sessions is complete."""
    async with command_workspace(common.config(), create=False) as (workspace, failures):
        await workspace.session_list.refresh()
        yield workspace, failures


async def _named(store: Store, names: Sequence[str]) -> dict[str, SessionSummary]:
    """Return the sessions with these names by their ids. Raises InputError for an unknown one."""
    summaries = [await named_session(store, name) for name in names]
    return {summary.session_id: summary for summary in summaries}


def _titles(*sessions: SessionSummary) -> str:
    return ", ".join(f"“{one_line(session.title, 60)}”" for session in sessions)


@sessions.command("list")
@click.option("--tag", default="", help="Only sessions with this tag.")
@click.option("--title", default="", help="Only sessions whose title contains this text.")
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--deleted", is_flag=True, help="Only sessions in the trash.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of sessions.")
@json_option()
@asynchronous
async def list_sessions(
    common: CommonOptions,
    as_json: bool,
    limit: int | None,
    archived: bool,
    deleted: bool,
    tag: str,
    title: str,
) -> None:
    """List sessions, most recently active first.

    Titles and subagents of a recorded session are listed with --json only, with the id of their
    session.

    \b
    Examples:
      tui-chat sessions list --tag outdoors --limit 20
      tui-chat sessions list --deleted --json
    """
    async with open_store(common) as store:
        found = await (store.sessions.list_trash() if deleted else store.sessions.list())
        found = [
            each
            for each in found
            if (archived or deleted or not each.archived)
            and title.casefold() in each.title.casefold()
            and (not tag or tag.casefold() in map(str.casefold, each.tags))
        ]
        found = await store.sessions.counted_by_branch(found)
    listed = {session.session_id for session in found}
    shown = found if as_json else [each for each in found if each.parent_id not in listed]
    write_list(
        shown[:limit],
        as_json,
        lambda session: session._asdict(),
        ("ID", "TITLE", "ROLE", "MODEL", "MESSAGES", "TOKENS", "STATUS", "UPDATED"),
        _cells,
        (1, 20),
        (3, 12),
        (2, 8),
        nothing="No sessions.",
    )


def _cells(session: SessionSummary) -> tuple[str, ...]:
    updated = datetime.fromtimestamp(session.updated, UTC).astimezone()
    return (
        session.session_id[:SHORT_ID],
        one_line(session.title) or "—",
        session.role_name,
        session.model,
        str(session.message_count),
        str(session.total_tokens),
        session.status,
        updated.strftime("%Y-%m-%d %H:%M"),
    )


@sessions.command()
@last_or_session
@json_option()
@asynchronous
async def show(common: CommonOptions, name: str | None, as_json: bool) -> None:
    """Print a session: its facts and the messages of its branch, as Markdown.

    Without SESSION, the one that was active last.

    \b
    Examples:
      tui-chat sessions show
      tui-chat sessions show "A walk"
      tui-chat sessions show 0198a --json
    """
    async with _workspace(common) as (workspace, failures):
        summary = await named_session(workspace.store, name)
        if as_json:
            from tui_chat.cli.documents import whole_session_document

            await workspace.sessions.activate(summary.session_id)
            failures.warn()
            write_json(whole_session_document(workspace, summary))
            return
        ids, zone = [summary.session_id], local_zone()
        texts = exported_texts(workspace.store, ids, "markdown", zone, workspace.library)
        async for text in texts:
            write_export(text)


@sessions.command()
@last_or_session
@json_option()
@asynchronous
async def cache(common: CommonOptions, name: str | None, as_json: bool) -> None:
    """Print why requests of a session lost the prompt cache, most tokens first.

    Without SESSION, the one that was active last. Only what providers reported is counted; COST is
    the price of the tokens beyond that of cached ones.

    \b
    Examples:
      tui-chat sessions cache
      tui-chat sessions cache "A walk" --json
    """
    async with _workspace(common) as (workspace, _):
        summary = await named_session(workspace.store, name)
        entries = await workspace.store.branches.load(summary.session_id)
        losses = await workspace.cache.losses(entries)
    causes: dict[str, list[CacheLoss]] = {}
    for loss in losses:
        causes.setdefault(loss.cause, []).append(loss)
    rows = [
        (len(same), sum(loss.tokens for loss in same), _cost(same), cause)
        for cause, same in causes.items()
    ]
    write_list(
        sorted(rows, key=lambda row: -row[1]),
        as_json,
        lambda row: dict(zip(("times", "tokens", "cost", "cause"), row, strict=True)),
        ("TIMES", "TOKENS", "COST", "CAUSE"),
        lambda row: (f"{row[0]:,}", f"{row[1]:,}", f"${row[2]}" if row[2] else "—", row[3]),
        nothing="No request of this session lost the cache, as far as is known.",
    )


def _cost(losses: Sequence[CacheLoss]) -> str | None:
    """Return US dollars beyond the price of cached tokens; None if they are unknown."""
    costs = [loss.cost for loss in losses if loss.cost is not None]
    return f"{sum(costs):.4f}" if costs else None


@sessions.command()
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Bring sessions back from the trash.")
@asynchronous
async def delete(common: CommonOptions, names: tuple[str, ...], undo: bool) -> None:
    """Move sessions to the trash, where they stay for 30 days.

    \b
    Examples:
      tui-chat sessions delete "A walk"
      tui-chat sessions delete --undo "A walk"
    """
    async with _workspace(common) as (workspace, failures):
        if undo:
            trash = await workspace.store.sessions.list_trash()
            restored = [find_session(trash, name) for name in names]
            await workspace.store.sessions.restore([session.session_id for session in restored])
            write_line(f"Restored {_titles(*restored)}.")
            return
        deleted = await _named(workspace.store, names)
        await workspace.sessions.delete(tuple(deleted))
        failures.raise_first()
        write_line(
            f"Moved {_titles(*deleted.values())} to the trash. To restore within 30 days: "
            f"tui-chat sessions delete --undo {' '.join(deleted)}"
        )
