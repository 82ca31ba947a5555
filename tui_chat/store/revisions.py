"""Revisions: the presets, roles, profiles and lorebooks that requests were made of, by hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from tui_chat.models.text import clean
from tui_chat.store.database import Database, Transaction

_HEX_DIGITS = 64


class RevisionStore:
    """JSON texts, each kept once under its SHA-256."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def save(self, kind: str, text: str) -> str:
        """Keep a preset, role, profile or lorebook (`kind`) as JSON; return its SHA-256 in hex."""
        now = self._now()
        return await self._database.write(lambda tx: save_revision(tx, kind, text, now))

    async def get(self, sha256: str) -> str | None:
        """Return the JSON with this hash; None if it was never kept."""
        row = await self._database.read(
            lambda tx: tx.row("SELECT json FROM revisions WHERE sha256 = ?", sha256)
        )
        return None if row is None else row[0]


async def save_revision(tx: Transaction, kind: str, text: str, now: float) -> str:
    """Keep a text under its hash, once; return the hash."""
    text = clean(text)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    await tx.run(
        "INSERT INTO revisions (sha256, kind, created, json) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (sha256) DO NOTHING",
        *(sha256, kind, now, text),
    )
    return sha256


async def revisions_of_recipes(
    tx: Transaction, recipes: Iterable[Mapping[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Return kind and text of all revisions that recipes name by hash, in the order of the hashes.

    Endpoints with headers or parameters of their own are left out: they may contain a key.
    """
    hashes = {
        name
        for recipe in recipes
        for value in recipe.values()
        for name in (cast("list[object]", value) if isinstance(value, list) else [value])
        if isinstance(name, str) and len(name) == _HEX_DIGITS
    }
    rows = await tx.rows(
        "SELECT kind, json FROM revisions WHERE sha256 IN (SELECT value FROM json_each(?)) "
        "ORDER BY sha256",
        json.dumps(sorted(hashes)),
    )
    return tuple(
        (kind, text)
        for kind, text in rows
        if kind != "endpoint" or json.loads(text).keys().isdisjoint(("headers", "query"))
    )
