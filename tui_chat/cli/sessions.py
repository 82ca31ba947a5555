"""`tui-chat sessions`: list, show, organize and fork sessions; why they lost the prompt cache."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from tui_chat.cli import completion
from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.export import local_zone
from tui_chat.cli.names import find_session, named_session, short_ids
from tui_chat.cli.options import (
    TEXT,
    endpoint_option,
    json_option,
    last_or_session,
    model_option,
    role_option,
)
from tui_chat.cli.output import write_export, write_json, write_line, write_list
from tui_chat.cli.workspace import command_workspace
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.branches import muted_messages
from tui_chat.workspace.exports import exported_texts

if TYPE_CHECKING:
    from tui_chat.cli.workspace import Failures
    from tui_chat.models.session import SessionSummary
    from tui_chat.store import Store
    from tui_chat.workspace.workspace import Workspace


@click.group()
def sessions() -> None:
    """List, show and organize sessions.

    A SESSION is an id, the start of one, or a title.
    """


_SESSION = click.argument("name", metavar="SESSION", shell_complete=completion.complete_session)
_SESSIONS = click.argument(
    "names",
    metavar="SESSION...",
    nargs=-1,
    required=True,
    shell_complete=completion.complete_session,
)


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


async def _activate(workspace: Workspace, name: str) -> list[str]:
    """Make a session active; return the ids of its branch's messages. Raises InputError."""
    session = await named_session(workspace.store, name)
    await workspace.sessions.activate(session.session_id)
    return [entry.message.id for entry in workspace.state.entries]


def _titles(*sessions: SessionSummary) -> str:
    return ", ".join(f"“{one_line(session.title, 60)}”" for session in sessions)


class _Row(NamedTuple):
    session: SessionSummary
    mark: str = ""
    """Stands before its title: how many side conversations it has, or that it is one."""


@sessions.command("list")
@role_option("Only sessions with this role.", default="")
@model_option("Only sessions with this model.", default="")
@endpoint_option("Only sessions with this endpoint.", default="")
@click.option("--tag", default="", help="Only sessions with this tag.")
@click.option("--folder", default="", help="Only sessions in this folder.")
@click.option("--title", default="", help="Only sessions whose title contains this text.")
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--deleted", is_flag=True, help="Only sessions in the trash.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of sessions.")
@click.option("--sides", is_flag=True, help="Unfold titles and subagents of recorded sessions.")
@json_option()
@asynchronous
async def list_sessions(
    common: CommonOptions,
    as_json: bool,
    sides: bool,
    limit: int | None,
    archived: bool,
    deleted: bool,
    **texts: str,
) -> None:
    """List sessions, most recently active first.

    Titles and subagents of a recorded session are folded below it; with --json, all are listed,
    with the id of their session.

    \b
    Examples:
      tui-chat sessions list --tag outdoors --limit 20
      tui-chat sessions list --deleted --json
    """
    async with open_store(common, only_reads=True) as store:
        found = await (store.sessions.list_trash() if deleted else store.sessions.list())
        ids = await short_ids(store)
        found = [
            each
            for each in found
            if (archived or deleted or not each.archived) and _matches(each, **texts)
        ]
        found = await store.sessions.counted_by_branch(found)
    rows = [_Row(each) for each in found[:limit]] if as_json else _rows(found, limit, sides)
    programs = ("PROGRAM",) if any(row.session.client for row in rows) else ()
    write_list(
        rows,
        as_json,
        lambda row: row.session._asdict(),
        ("ID", "TITLE", *programs, "ROLE", "MODEL", "MESSAGES", "TOKENS", "STATUS", "UPDATED"),
        lambda row: _cells(row, ids[row.session.session_id], bool(programs)),
        (1, 20),
        (3 + len(programs), 12),
        (2 + len(programs), 8),
        nothing="No sessions.",
    )


def _matches(session: SessionSummary, *, role: str, tag: str, title: str, **texts: str) -> bool:
    """Return True if a session has these texts, in any case; an empty one is not checked."""
    equal = [(role, (session.role_name,)), (tag, session.tags)]
    equal += [(text, (getattr(session, name),)) for name, text in texts.items()]
    return title.casefold() in session.title.casefold() and all(
        not text or text.casefold() in map(str.casefold, values) for text, values in equal
    )


def _rows(found: Sequence[SessionSummary], limit: int | None, unfolded: bool) -> list[_Row]:
    """Return the rows of a table; side conversations follow theirs only if `unfolded`."""
    ids = {session.session_id for session in found if not session.parent_id}
    sides = [session for session in found if session.parent_id in ids]
    rows: list[_Row] = []
    for session in [each for each in found if each.parent_id not in ids][:limit]:
        own = [side for side in sides if side.parent_id == session.session_id]
        rows.append(_Row(session, f"{'▾' if unfolded else '▸'}{len(own):,} " if own else ""))
        rows += [_Row(side, "└ ") for side in own if unfolded]
    return rows


def _cells(row: _Row, short_id: str, has_programs: bool) -> tuple[str, ...]:
    session = row.session
    updated = datetime.fromtimestamp(session.updated, UTC).astimezone()
    return (
        short_id,
        row.mark + (one_line(session.title) or "—"),
        *((session.client,) if has_programs else ()),
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
            sent = await workspace.store.requests.list(summary.session_id)
            failures.warn()
            recorded = {e.message_id: e.request for e in sent if e.request.is_recorded}
            write_json(whole_session_document(workspace, summary, recorded))
            return
        ids, zone = [summary.session_id], local_zone()
        texts = exported_texts(workspace.store, ids, "markdown", zone, workspace.library)
        async for text in texts:
            write_export(text)


@sessions.command()
@_SESSION
@click.argument("title", type=TEXT)
@asynchronous
async def rename(common: CommonOptions, name: str, title: str) -> None:
    """Give a session another title.

    \b
    Example:
      tui-chat sessions rename 0198a "Salt marshes"
    """
    if not title.strip():
        raise InputError("The title is empty.")
    async with _workspace(common) as (workspace, failures):
        session = await named_session(workspace.store, name)
        await workspace.session_list.rename(session.session_id, title)
        failures.raise_first()
        renamed = await workspace.store.sessions.get(session.session_id)
        assert renamed is not None
        write_line(f"Renamed {_titles(session)} to “{one_line(renamed.title)}”.")


@sessions.command()
@_SESSIONS
@click.option("--add", "-a", multiple=True, metavar="TAG", help="A tag to add; repeatable.")
@click.option(
    "--remove", "-r", "drop", multiple=True, metavar="TAG", help="A tag to remove; repeatable."
)
@asynchronous
async def tag(
    common: CommonOptions, names: tuple[str, ...], add: tuple[str, ...], drop: tuple[str, ...]
) -> None:
    """Add tags to sessions and remove others, then print what tags they have.

    \b
    Example:
      tui-chat sessions tag "A walk" 0198b --add outdoors --remove draft
    """
    async with _workspace(common) as (workspace, failures):
        tagged = await _named(workspace.store, names)
        await workspace.session_list.retag(tuple(tagged), add=add, drop=drop)
        failures.raise_first()
        for session in await workspace.store.sessions.list():
            if session.session_id in tagged:
                tags = one_line(", ".join(session.tags)) or "no tags"
                write_line(f"{_titles(session)}: {tags}")


@sessions.command()
@_SESSIONS
@click.option("--undo", is_flag=True, help="Take them out of the archive.")
@asynchronous
async def archive(common: CommonOptions, names: tuple[str, ...], undo: bool) -> None:
    """Hide sessions from lists; search still finds them.

    \b
    Examples:
      tui-chat sessions archive "A walk"
      tui-chat sessions archive --undo "A walk"
    """
    async with _workspace(common) as (workspace, failures):
        archived = await _named(workspace.store, names)
        await workspace.session_list.organize(tuple(archived), archived=not undo)
        failures.raise_first()
        verb = "Taken out of the archive" if undo else "Archived"
        write_line(f"{verb}: {_titles(*archived.values())}.")


@sessions.command()
@_SESSIONS
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


@sessions.command()
@_SESSION
@click.option("--at", "message_id", default="", metavar="ID", help="The last message of the copy.")
@click.option("--title", default="", help="Its title; default: that of the session.")
@asynchronous
async def fork(common: CommonOptions, name: str, message_id: str, title: str) -> None:
    """Copy a session's branch into a new session and print the new session's id.

    The id of a message is in `sessions show --json`; its number on the branch does, too.

    \b
    Example:
      tui-chat ask -s "$(tui-chat sessions fork 'A walk')" "And if it had rained?"
    """
    async with _workspace(common) as (workspace, failures):
        ids = await _activate(workspace, name)
        if not ids:
            raise InputError("The session has no messages.")
        message_id = _message_id(ids, message_id) if message_id else ids[-1]
        await workspace.branches.fork(message_id, title)
        failures.raise_first()
        write_line(workspace.state.session_id)


@sessions.command()
@_SESSION
@click.argument("messages", metavar="[MESSAGE]...", nargs=-1)
@click.option(
    "--tool-results-older-than",
    "turns",
    type=click.IntRange(min=0),
    metavar="TURNS",
    help="The tool results before the last TURNS messages of the user.",
)
@click.option("--undo", is_flag=True, help="Unmute; without MESSAGE, all of the branch.")
@asynchronous
async def mute(
    common: CommonOptions, name: str, messages: tuple[str, ...], turns: int | None, undo: bool
) -> None:
    """Leave messages of a session's branch out of requests. They stay in the session.

    A MESSAGE is an id, or its number on the branch, from 1; `sessions show --json` has both in
    order. A tool call goes with its result.

    \b
    Examples:
      tui-chat sessions mute "A walk" 3 4
      tui-chat sessions mute "A walk" --tool-results-older-than 2
      tui-chat sessions mute "A walk" --undo
    """
    if not messages and turns is None and not undo:
        raise InputError(
            "Say which messages.", advice="For example 3, or --tool-results-older-than 2."
        )
    async with _workspace(common) as (workspace, failures):
        branch = await _activate(workspace, name)
        ids = [_message_id(branch, message) for message in messages]
        ids += [] if turns is None else workspace.branches.tool_results_before(turns)
        if undo:
            await workspace.branches.unmute(ids or None)
        else:
            await workspace.branches.mute(ids)
        failures.raise_first()
        budget = workspace.requests.compose("").envelope.budget
        count = len(muted_messages(workspace.state.entries).ids)
        tokens = "" if budget is None else f", about {budget.muted:,} tokens less per request"
        plural = "message is" if count == 1 else "messages are"
        write_line(f"{count:,} {plural} muted{tokens if count else ''}.")


def _message_id(ids: Sequence[str], message: str) -> str:
    """Return the id of a message that is given by id or number. Raises InputError."""
    if message in ids:
        return message
    if message.isascii() and message.isdigit() and 0 < int(message[:9]) <= len(ids):
        return ids[int(message) - 1]
    raise InputError(
        f"There is no message “{one_line(message, 80)}” on the session's branch.",
        advice="`sessions show --json` has the ids.",
    )
