"""Roles: the named assistants that sessions are bound to."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui_chat.errors import InputError
from tui_chat.models.boundary import pack
from tui_chat.models.role import Role
from tui_chat.store import index
from tui_chat.store.database import Database, Transaction, writes
from tui_chat.store.rows import ROLE, SETTINGS, character_of, role_of


class RoleStore:
    """The roles in the database."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self.database = database
        self._now = now
        self.get = database.reader(find_role)
        self.require_enabled = database.reader(require_enabled_role)

    async def list(self) -> tuple[Role, ...]:
        """Return all roles by name, oldest first, without their character cards."""
        rows = await self.database.rows(f"SELECT {ROLE} FROM roles ORDER BY seq")
        return tuple(sorted(map(role_of, rows), key=lambda role: role.name.casefold()))

    async def descriptions(self) -> dict[str, str]:
        """Return the beginning of the description in each character card, by the role's id."""
        rows = await self.database.rows(
            "SELECT role_id, substr(ltrim(json_extract(character, '$.description'), "
            "' ' || char(9, 10, 13)), 1, 500) FROM characters"
        )
        return {row[0]: row[1] or "" for row in rows}

    @writes
    async def save(self, tx: Transaction, role: Role, picture: bytes = b"") -> None:
        """Add or replace a role; a stored card stays without a new one. Raises `InputError`."""
        await save_role(tx, role, self._now(), picture)

    async def picture(self, role_id: str) -> bytes:
        """Return the picture of a role's character card (PNG); empty if it has none."""
        row = await self.database.row("SELECT picture FROM characters WHERE role_id = ?", role_id)
        return b"" if row is None else bytes(row[0])

    @writes
    async def delete(self, tx: Transaction, role_id: str) -> None:
        """Delete a role; its sessions stay, without a role, and remember its name."""
        await tx.run(
            "UPDATE sessions SET lost_role = (SELECT name FROM roles WHERE role_id = ?1) "
            "WHERE role_id = ?1",
            role_id,
        )
        await tx.run("DELETE FROM roles WHERE role_id = ?", role_id)


async def save_role(tx: Transaction, role: Role, now: float, picture: bytes = b"") -> None:
    """Add a role, or replace the one with its id; see `RoleStore.save`."""
    if not role.role_id:
        raise InputError("A role needs an id.")
    await tx.run(
        f"INSERT INTO roles ({ROLE}, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (role_id) DO UPDATE SET name = excluded.name, "
        "system_prompt = excluded.system_prompt, model = excluded.model, "
        "settings = excluded.settings, "
        "preset = excluded.preset, status = excluded.status, updated = excluded.updated",
        *(role.role_id, role.name, role.system_prompt, role.model),
        *(SETTINGS.text(role.settings), role.preset, role.status, now, now),
    )
    await index.put_role(tx, role.role_id)
    if role.character is not None:
        await tx.run(
            "INSERT INTO characters (role_id, character, picture) VALUES (?, ?, ?) "
            "ON CONFLICT (role_id) DO UPDATE SET character = excluded.character, "
            "picture = iif(excluded.picture = x'', picture, excluded.picture)",
            *(role.role_id, pack(role.character), picture),
        )


async def find_role(tx: Transaction, role_id: str) -> Role | None:
    """Return a role; None if there is none with this id."""
    row = await tx.row(f"SELECT {ROLE} FROM roles WHERE role_id = ?", role_id)
    if row is None:
        return None
    card = await tx.row("SELECT character FROM characters WHERE role_id = ?", role_id)
    role = role_of(row)
    return role if card is None else replace(role, character=character_of(card))


async def require_enabled_role(tx: Transaction, role_id: str) -> Role:
    """Return a role that may start a session. Raises `InputError` if it is gone or disabled."""
    role = await find_role(tx, role_id)
    if role is None:
        raise InputError("This role does not exist.")
    if role.status == "disabled":
        raise InputError(
            f"The role “{role.name}” is disabled.",
            advice="Enable it in the app (/roles), or choose another role.",
        )
    return role
