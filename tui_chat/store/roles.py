"""Roles: the named assistants that sessions are bound to."""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

from tui_chat.errors import InputError
from tui_chat.models.role import Role
from tui_chat.store.database import Transaction
from tui_chat.store.rows import ROLE, role_of


async def save(tx: Transaction, role: Role, now: float) -> None:
    """Add a role, or change the one that has its id."""
    if not role.role_id:
        raise InputError("A role needs an id.")
    await tx.run(
        f"INSERT INTO roles ({ROLE}, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (role_id) DO UPDATE SET name = excluded.name, "
        "system_prompt = excluded.system_prompt, model = excluded.model, "
        "temperature = excluded.temperature, max_tokens = excluded.max_tokens, "
        "preset = excluded.preset, status = excluded.status, updated = excluded.updated",
        *(role.role_id, role.name, role.system_prompt, role.model, role.temperature),
        *(role.max_tokens, role.preset, role.status, now, now),
    )


async def delete(tx: Transaction, role_id: str) -> None:
    """Remove a role; its sessions stay, without one, and remember its name."""
    await tx.run(
        "UPDATE sessions SET lost_role = (SELECT name FROM roles WHERE role_id = ?1) "
        "WHERE role_id = ?1",
        role_id,
    )
    await tx.run("DELETE FROM roles WHERE role_id = ?", role_id)


async def find(tx: Transaction, role_id: str) -> Role | None:
    """Return the role, None if there is none."""
    row = await tx.row(f"SELECT {ROLE} FROM roles WHERE role_id = ?", role_id)
    return None if row is None else role_of(row)


async def every(tx: Transaction) -> tuple[Role, ...]:
    """Return all roles by name, those of one name in the order in which they were made."""
    rows = await tx.rows(f"SELECT {ROLE} FROM roles ORDER BY seq")
    return tuple(sorted(map(role_of, rows), key=lambda role: role.name.casefold()))


async def enabled_role(tx: Transaction, role_id: str) -> Role:
    """Return a role that may start a session; refuse one that may not."""
    role = await find(tx, role_id)
    if role is None:
        raise InputError("This role does not exist.")
    if role.status == "disabled":
        raise InputError(
            f"The role “{role.name}” is disabled.", advice="Enable it, or choose another role."
        )
    return role
