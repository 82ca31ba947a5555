"""Profiles, revisions of what requests are made of, and the variables of sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from json import dumps, loads
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.profile import Profile
from tui_chat.models.text import clean
from tui_chat.store.database import Transaction
from tui_chat.store.sessions import require


async def save_profile(tx: Transaction, profile: Profile, now: float) -> None:
    """Add a profile, or change the one that has its name."""
    if not profile.name.strip():
        raise InputError("A profile needs a name.")
    await tx.run(
        "INSERT INTO profiles (name, content, created, updated) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET content = excluded.content, updated = excluded.updated",
        *(profile.name, profile.content, now, now),
    )


async def profile(tx: Transaction, name: str) -> Profile | None:
    """Return a profile, None if there is none."""
    row = await tx.row("SELECT name, content FROM profiles WHERE name = ?", name)
    return None if row is None else Profile(*row)


async def profiles(tx: Transaction) -> tuple[Profile, ...]:
    """Return all profiles by name."""
    rows = await tx.rows("SELECT name, content FROM profiles ORDER BY seq")
    return tuple(sorted((Profile(*row) for row in rows), key=lambda one: one.name.casefold()))


async def remove_profile(tx: Transaction, name: str) -> None:
    """Remove a profile; one that is gone stays gone."""
    await tx.run("DELETE FROM profiles WHERE name = ?", name)


async def keep_revision(tx: Transaction, kind: str, json: str, now: float) -> str:
    """Keep a text under its hash, once; return the hash."""
    json = clean(json)
    sha256 = hashlib.sha256(json.encode()).hexdigest()
    await tx.run(
        "INSERT INTO revisions (sha256, kind, created, json) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (sha256) DO NOTHING",
        *(sha256, kind, now, json),
    )
    return sha256


async def revision(tx: Transaction, sha256: str) -> str | None:
    """Return the text with this hash, None if it was never kept."""
    row = await tx.row("SELECT json FROM revisions WHERE sha256 = ?", sha256)
    return None if row is None else row[0]


async def named_revisions(
    tx: Transaction, recipes: Iterable[Mapping[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Return kind and text of what recipes name by its hash, in the order of the hashes.

    Left out are endpoints with headers or parameters of their own: there may be a key in them.
    """
    names = {
        name
        for recipe in recipes
        for value in recipe.values()
        for name in (cast("list[object]", value) if isinstance(value, list) else [value])
        if isinstance(name, str) and len(name) == _HEX_DIGITS
    }
    rows = await tx.rows(
        "SELECT kind, json FROM revisions WHERE sha256 IN (SELECT value FROM json_each(?)) "
        "ORDER BY sha256",
        dumps(sorted(names)),
    )
    return tuple(
        (kind, text)
        for kind, text in rows
        if kind != "endpoint" or loads(text).keys().isdisjoint(("headers", "query"))
    )


_HEX_DIGITS = 64


async def variables(tx: Transaction, session_id: str) -> dict[str, str]:
    """Return the variables of a session by name."""
    rows = await tx.rows(
        "SELECT key, value FROM variables WHERE session_id = ? ORDER BY key", session_id
    )
    return dict(rows)


async def save_variables(tx: Transaction, session_id: str, values: Mapping[str, str]) -> None:
    """Replace the variables of a session."""
    await require(tx, session_id)
    await tx.run("DELETE FROM variables WHERE session_id = ?", session_id)
    await tx.run_many(
        "INSERT INTO variables (session_id, key, value) VALUES (?, ?, ?)",
        [(session_id, key, value) for key, value in values.items()],
    )


async def add_variables(tx: Transaction, session_id: str, values: Mapping[str, str]) -> None:
    """Add variables to a session; those that are there stay as they are."""
    await tx.run_many(
        "INSERT INTO variables (session_id, key, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(session_id, key, value) for key, value in values.items()],
    )
