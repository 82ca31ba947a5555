"""`tui-chat search`: messages and sessions that contain a text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import SHORT_ID
from tui_chat.cli.options import (
    endpoint_option,
    json_option,
    model_option,
    role_option,
    session_option,
)
from tui_chat.cli.output import Styled, is_terminal, write_json, write_line
from tui_chat.models.sanitize import one_line
from tui_chat.models.search import Hit, Query


@click.command()
@click.argument("text", metavar="QUERY")
@role_option("Only sessions with this role.", "role_name", default="")
@model_option("Only messages of this model.", default="")
@endpoint_option("Only messages of this endpoint.", default="")
@click.option(
    "--message-role",
    type=click.Choice(["system", "user", "assistant", "tool"]),
    help="Only messages with this role.",
)
@click.option("--tag", default="", help="Only sessions with this tag.")
@session_option("Only the session with this id.", "session_id", default="")
@click.option("--since", type=click.DateTime(), help="From this day or time.")
@click.option("--until", type=click.DateTime(), help="Before this day or time.")
@click.option("--newest", is_flag=True, help="Sort by time instead of relevance.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_option()
@asynchronous
async def search(
    common: CommonOptions,
    since: datetime | None,
    until: datetime | None,
    newest: bool,
    as_json: bool,
    **conditions: Any,
) -> None:
    """Search messages and sessions.

    Searches texts, reasoning, tool calls, attached files, titles and roles. All words must occur;
    "words in quotes" must be adjacent, and word* matches a beginning. Exits with 1 if nothing is
    found.

    \b
    Example:
      tui-chat search '"north wall" garden*' --newest
    """
    query = Query(
        since=since.astimezone().timestamp() if since else None,
        until=until.astimezone().timestamp() if until else None,
        order="newest" if newest else "rank",
        **conditions,
    )
    async with open_store(common) as store:
        hits = await store.search.find(query)
    if as_json:
        write_json([asdict(hit) for hit in hits])
    else:
        _print_hits(hits)
    if not (hits.is_ranked or newest):
        write_line("Too many messages match to be ranked: the newest come first.", err=True)
    if not hits:
        if not as_json:
            write_line("Nothing found.", err=True)
        sys.exit(1)


def _print_hits(hits: Sequence[Hit]) -> None:
    """Print the hits, grouped by session."""
    color = is_terminal() and not os.environ.get("NO_COLOR")
    sessions: dict[str, list[Hit]] = {}
    for hit in hits:
        sessions.setdefault(hit.session_id, []).append(hit)
    for number, (session_id, of_session) in enumerate(sessions.items()):
        if number:
            write_line()
        title = one_line(of_session[0].title) or "—"
        write_line(Styled(title, bold=True), f"  {session_id[:SHORT_ID]}")
        for hit in of_session:
            created = datetime.fromtimestamp(hit.created, UTC).astimezone()
            where = hit.message_role or "title" if hit.place == "text" else hit.place
            write_line(f"  {created:%Y-%m-%d %H:%M}  {where:<10}  ", *_highlighted(hit, color))


def _highlighted(hit: Hit, color: bool) -> list[str | Styled]:
    """Return the snippet in parts, with its matches in color or in square brackets."""
    parts: list[str | Styled] = []
    done = 0
    for start, end in hit.marks:
        word = hit.snippet[start:end]
        parts += [hit.snippet[done:start], Styled(word, "yellow", True) if color else f"[{word}]"]
        done = end
    return [*parts, hit.snippet[done:]]
