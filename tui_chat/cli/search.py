"""`tui-chat search`: everything that was said, for people and for programs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tui_chat.cli.open_store import open_store
from tui_chat.model.visible import one_line, visible

if TYPE_CHECKING:
    from tui_chat.model.search import Hit, Query


def run_search(settings: Mapping[str, object], query: Query, *, as_json: bool) -> bool:
    """Print what is found; return whether anything is. Raises StoreError and InputError."""
    hits = asyncio.run(_search(settings, query))
    if as_json:
        told = [asdict(hit) for hit in hits]
        click.echo(json.dumps(told, indent=2, ensure_ascii=False).encode())
    else:
        _print(hits)
    return bool(hits)


async def _search(settings: Mapping[str, object], query: Query) -> Sequence[Hit]:
    async with open_store(settings) as store:
        return await store.search(query)


def _print(hits: Sequence[Hit]) -> None:
    """Print hits under the sessions they are in."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    sessions: dict[str, list[Hit]] = {}
    for hit in hits:
        sessions.setdefault(hit.session_id, []).append(hit)
    for number, (session_id, found) in enumerate(sessions.items()):
        if number:
            click.echo()
        title = one_line(found[0].title) or "—"
        click.echo(f"{click.style(title, bold=True) if colour else title}  {session_id}")
        for hit in found:
            at = datetime.fromtimestamp(hit.created, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
            where = hit.message_role or "title" if hit.place == "text" else hit.place
            click.echo(f"  {at}  {where:<9}  {highlighted(hit, colour)}")


def highlighted(hit: Hit, colour: bool) -> str:
    """Return the snippet, its hits in colour or in square brackets."""
    told: list[str] = []
    done = 0
    for start, end in hit.marks:
        word = visible(hit.snippet[start:end])
        marked = click.style(word, fg="yellow", bold=True) if colour else f"[{word}]"
        told += [visible(hit.snippet[done:start]), marked]
        done = end
    return "".join([*told, visible(hit.snippet[done:])])
