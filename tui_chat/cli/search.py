"""`tui-chat search`: everything that was said, for people and for programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tui_chat.cli.open_store import open_store
from tui_chat.cli.output import Styled, is_terminal, write_json, write_line
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.models.search import Hit, Query


def run_search(settings: Mapping[str, object], query: Query, *, as_json: bool) -> bool:
    """Print what is found; return whether anything is. Raises StoreError and InputError."""
    hits = asyncio.run(_search(settings, query))
    if as_json:
        told = [asdict(hit) for hit in hits]
        write_json(told)
    else:
        _print(hits)
    return bool(hits)


async def _search(settings: Mapping[str, object], query: Query) -> Sequence[Hit]:
    async with open_store(settings) as store:
        return await store.search.find(query)


def _print(hits: Sequence[Hit]) -> None:
    """Print hits under the sessions they are in."""
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
    """Return the snippet in parts, its hits in colour or in square brackets."""
    told: list[str | Styled] = []
    done = 0
    for start, end in hit.marks:
        word = hit.snippet[start:end]
        told += [hit.snippet[done:start], Styled(word, "yellow", True) if colour else f"[{word}]"]
        done = end
    return [*told, hit.snippet[done:]]
