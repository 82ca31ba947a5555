"""The sessions, roles and files of the library that names on the command line stand for.

A name that does not exist is an error that suggests similar ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.models.role import Role
    from tui_chat.models.session import SessionSummary
    from tui_chat.store import Store


SHORT_ID = 16
"""Characters of a printed id: its milliseconds, and four random digits."""


def find(what: str, name: str, names: Sequence[str]) -> str:
    """Return a name as `names` spells it, in any case. Raises InputError with the nearest."""
    if name in names:
        return name
    for candidate in names:
        if candidate.casefold() == name.casefold():
            return candidate
    raise InputError(f"There is no {what} “{one_line(name, 80)}”.", advice=suggestion(name, names))


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return advice on an unknown name: the nearest known ones, or if none is near, all."""
    by_case = {candidate.casefold(): candidate for candidate in reversed(names)}
    near = [by_case[key] for key in difflib.get_close_matches(name.casefold(), by_case, 3, 0.5)]
    if near:
        return f"Did you mean {' or '.join(f'“{one_line(match, 80)}”' for match in near)}?"
    some = ", ".join(one_line(candidate, 80) for candidate in names[:20])
    return f"Available: {some}{', …' if len(names) > 20 else ''}." if some else "There are none."


def find_role(roles: Sequence[Role], name: str) -> Role:
    """Return the role with this id or name. Raises InputError, which suggests the nearest."""
    for role in roles:
        if name in (role.role_id, role.name):
            return role
    found_name = find("role", name, [role.name for role in roles])
    return next(role for role in roles if role.name == found_name)


async def named_session(store: Store, name: str | None) -> SessionSummary:
    """Return the session of an id, its start, or a title; None: the last. Raises InputError."""
    sessions = await store.sessions.list()
    if name is None:
        if not sessions:
            raise InputError("There is no session yet.", advice="`tui-chat ask TEXT` starts one.")
        return sessions[0]
    try:
        return find_session(sessions, name)
    except InputError:
        for session in await store.sessions.list_trash():
            if name and (session.session_id.startswith(name) or session.title == name):
                undo = f"tui-chat sessions delete --undo {session.session_id}"
                raise InputError(
                    f"“{one_line(session.title, 80)}” is in the trash.",
                    advice=f"Restore it with `{undo}`.",
                ) from None
        raise


def find_session(sessions: Sequence[SessionSummary], name: str) -> SessionSummary:
    """Return the session with this id, start of an id, or exact title. Raises InputError, which
    suggests similar sessions.
    """
    titled = [session for session in sessions if session.title == name]
    begun = [session for session in sessions if session.session_id.startswith(name)] if name else []
    for matches in ([each for each in begun if each.session_id == name], titled, begun):
        if len(matches) == 1:
            return matches[0]
    quoted = f"“{one_line(name, 80)}”"
    if several := titled or begun:
        advice = f"Give more of the id: {_session_list(several)}."
        raise InputError(f"{quoted} matches {len(several)} sessions.", advice=advice)
    if Path(name).is_file():
        advice = "`tui-chat view FILE` shows its conversations, `tui-chat import` imports them."
        raise InputError(f"{quoted} is a file, not a session.", advice=advice)
    titles = {session.title.casefold(): session for session in reversed(sessions)}
    key = name.casefold()
    near = [titles[title] for title in difflib.get_close_matches(key, titles, 3, 0.5)]
    near = [session for title, session in titles.items() if key and key in title][:3] or near
    hint = (
        f"Did you mean {_session_list(near)}?" if near else "`tui-chat sessions list` lists them."
    )
    raise InputError(f"There is no session {quoted}.", advice=hint)


def _session_list(sessions: Sequence[SessionSummary]) -> str:
    some = [f"{session.session_id} ({one_line(session.title, 50)})" for session in sessions[:5]]
    return ", ".join(some) + (", …" if len(sessions) > 5 else "")
