"""`tui-chat export`: sessions from the database into files."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.cli.open_store import open_store
from tui_chat.cli.output import finish, write_export
from tui_chat.errors import InputError
from tui_chat.exporting import ENDINGS, ONE_FILE, Format, exported, write_file
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SessionSummary

if TYPE_CHECKING:
    from tui_chat.store import Store


def run_export(
    settings: Mapping[str, object],
    name: str | None,
    kind: Format,
    output: Path | None,
    *,
    everything: bool,
    force: bool,
) -> None:
    """Write one session, or all, to a file or the standard output.

    Raises InputError where the session or the place is not to be had, and StoreError.
    """
    if everything == (name is not None):
        raise InputError("Name one session, or give --all for all of them.")
    if everything and kind not in ONE_FILE and output is None:
        raise InputError(
            f"All sessions as {kind} are many files.", advice="Name a folder with --output."
        )
    into_folder = everything and kind not in ONE_FILE
    is_there = output is not None and (output.is_file() or output.is_dir())
    if is_there and not (force or into_folder):
        raise InputError(f"{output} exists already.", advice="Overwrite it with --force.")
    asyncio.run(_export(settings, name, kind, output, force))


async def _export(
    settings: Mapping[str, object], name: str | None, kind: Format, output: Path | None, force: bool
) -> None:
    async with open_store(settings) as store:
        sessions = await store.sessions.list()
        chosen = list(sessions) if name is None else [find_session(sessions, name)]
        ids = [each.session_id for each in chosen]
        if name is None and kind not in ONE_FILE:
            assert output is not None  # checked before
            await _write_each(store, chosen, kind, output, force)
        elif output is None:
            async for text in exported(store, ids, kind, _zone()):
                write_export(text)
            finish()
        else:
            await write_file(exported(store, ids, kind, _zone()), output)


def find_session(sessions: Sequence[SessionSummary], name: str) -> SessionSummary:
    """Return the session with this id, this beginning of an id, or exactly this title.

    Raises InputError that names those that come near.
    """
    exact = [each for each in sessions if each.session_id == name]
    titled = [each for each in sessions if each.title == name]
    begun = [each for each in sessions if each.session_id.startswith(name)] if name else []
    for found in (exact, titled, begun):
        if len(found) == 1:
            return found[0]
    several = titled or begun
    if several:
        raise InputError(
            f"“{one_line(name, 80)}” is the name of {len(several)} sessions.",
            advice=f"Name one by its id: {_listed(several)}.",
        )
    titles = {each.title.casefold(): each for each in reversed(sessions)}
    wanted = name.casefold()
    within = [each for title, each in titles.items() if wanted and wanted in title]
    near = [titles[title] for title in difflib.get_close_matches(wanted, titles, 3, 0.5)]
    hints = list({each.session_id: each for each in (*within[:3], *near)}.values())[:3]
    raise InputError(
        f"There is no session “{one_line(name, 80)}”.",
        advice=f"Did you mean {_listed(hints)}?"
        if hints
        else "`tui-chat sessions list` shows those there are.",
    )


def _listed(sessions: Sequence[SessionSummary]) -> str:
    told = [f"{each.session_id} ({one_line(each.title, 50)})" for each in sessions[:5]]
    return ", ".join(told) + (", …" if len(sessions) > 5 else "")


async def _write_each(
    store: Store, sessions: Sequence[SessionSummary], kind: Format, folder: Path, force: bool
) -> None:
    _make(folder)
    for session in sessions:
        target = folder / f"{_slug(session.title)}-{session.session_id[:12]}{ENDINGS[kind]}"
        if target.exists() and not force:
            raise InputError(f"{target} exists already.", advice="Overwrite it with --force.")
        await write_file(exported(store, [session.session_id], kind, _zone()), target)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error


def _zone() -> tzinfo:
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None  # astimezone gives one
    return zone


def _slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "chat"
