"""Roles: who may start a session, and who did so last.

1. A session is bound to its role when it begins, and keeps it. Until then it can be chosen.
2. A disabled role starts nothing. A session whose role was disabled or deleted later opens, says
   so, and works without it.
3. A role file in `roles/` is taken in when it is new or was changed. What is changed in the app
   meanwhile stays until the file changes again; a file that goes away takes nothing with it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

from tui_chat.errors import InputError
from tui_chat.models.role import Role
from tui_chat.models.text import clean
from tui_chat.workspace.changes import BranchChanged, Trouble
from tui_chat.workspace.choosing import MOST_TEMPERATURE, Choosing
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import State

FIRST_ROLE = Role(
    role_id="assistant",
    name="Assistant",
    system_prompt=(
        "You are a helpful assistant. Answer in Markdown, precisely and to the point, and say so "
        "when you do not know."
    ),
)
"""The role that an empty database starts with."""

_NO_ROLE = ""
"""Stands in the list of what was used last for a session without a role."""


class Roles:
    """All roles there are, the ones used last first."""

    def __init__(
        self, state: State, outside: Outside, composing: Composing, choosing: Choosing
    ) -> None:
        self._state = state
        self._outside = outside
        self._store = outside.store
        self._composing = composing
        self._choosing = choosing

    async def start(self) -> None:
        """Read the roles; where there are none, begin with ours."""
        await self._take_files()
        if await self._store.settings.get("roles_begun") is None:
            if not await self._store.roles.list():
                await self._store.roles.save(FIRST_ROLE)
            await self._store.settings.set("roles_begun", "yes")  # whoever deletes it, means it
        await self._read()

    async def to_start_with(self, role_id: str | None) -> Role | None:
        """Return the role of a session that is to begin; see `Opening.clear`."""
        await self._read()
        if role_id is None:
            recent = await self._recent()
            enabled = [role for role in self._state.roles if role.status == "enabled"]
            return None if recent[:1] == [_NO_ROLE] or not enabled else enabled[0]
        if role_id == _NO_ROLE:
            return None
        role = next((each for each in self._state.roles if each.role_id == role_id), None)
        if role is None:
            raise InputError("This role does not exist.")
        if role.status == "disabled":
            words = f"The role “{role.name}” is disabled."
            raise InputError(words, advice="Enable it, or choose another role.")
        return role

    async def choose(self, role_id: str) -> None:
        """Give the chat that was not begun another role; see `Desk.choose_role`."""
        with self._outside.telling():
            if self._state.session is not None:
                raise InputError(
                    "A session keeps the role it began with.", advice="Begin a new chat for it."
                )
            await self._choosing.as_new(await self.to_start_with(role_id))
            self._composing.forget()
            self._outside.tell(BranchChanged())

    async def used(self, role_id: str) -> None:
        """Remember that a session was begun with a role, or (empty) without one."""
        recent = [role_id, *(each for each in await self._recent() if each != role_id)]
        await self._store.settings.set("roles_used", json.dumps(recent[:MOST_REMEMBERED]))
        await self._read()

    async def save(self, role: Role) -> Role | None:
        """Add or change a role; see `Desk.save_role`."""
        with self._outside.telling():
            role = _checked(role)
            role = replace(role, role_id=role.role_id or self._outside.new_id())
            await self._store.roles.save(role)
            await self._changed(role.role_id, role)
            return role
        return None

    async def delete(self, role_id: str) -> None:
        """Delete a role; its sessions stay, and work without it."""
        with self._outside.telling():
            await self._store.roles.delete(role_id)
            await self._changed(role_id, None)

    async def _changed(self, role_id: str, role: Role | None) -> None:
        """Show a role as it is now (None: gone), wherever it is shown."""
        state = self._state
        await self._read()
        if state.session is not None and state.session.role_id == role_id:
            state.role, state.role_missing = role, role is None
        elif state.session is None and state.role is not None and state.role.role_id == role_id:
            enabled = role is not None and role.status == "enabled"
            await self._choosing.as_new(await self.to_start_with(role_id if enabled else None))
        self._composing.forget()
        self._outside.tell(BranchChanged())

    async def _read(self) -> None:
        recent = {role_id: at for at, role_id in enumerate(await self._recent())}
        self._state.roles = tuple(
            sorted(
                await self._store.roles.list(),
                key=lambda role: (
                    role.status == "disabled",
                    recent.get(role.role_id, len(recent)),
                ),
            )
        )

    async def _recent(self) -> list[str]:
        return await self._recalled("roles_used", list) or []

    async def _take_files(self) -> None:
        shelf = self._outside.shelf
        names = shelf.names("roles")
        if not names:
            return
        taken: dict[str, str] = await self._recalled("role_files", dict) or {}
        seen = dict(taken)
        for name in names:
            try:
                text = shelf.role_text(name)
                digest = sha256(text.encode()).hexdigest()
                if seen.get(name) != digest:
                    await self._store.roles.save(_checked(shelf.role(name, text)))
                    seen[name] = digest
            except InputError as error:
                self._outside.tell(Trouble(error))
        if seen != taken:
            await self._store.settings.set("role_files", json.dumps(seen))

    async def _recalled(self, key: str, kind: type) -> Any:
        """Return what was remembered as JSON; None where nothing was, or not of this kind."""
        text = await self._store.settings.get(key)
        try:
            found = json.loads(text) if text else None
        except ValueError:
            return None
        return found if isinstance(found, kind) else None


MOST_REMEMBERED = 50
"""Roles that are kept in the order they were used; the others follow by name."""


def _checked(role: Role) -> Role:
    """Return a role as it may be kept. Raises InputError naming the fault."""
    name = " ".join(clean(role.name).split())
    if not name:
        raise InputError("A role needs a name.")
    if role.temperature is not None and not 0 <= role.temperature <= MOST_TEMPERATURE:
        raise InputError(f"A role's temperature must be from 0 to {MOST_TEMPERATURE}.")
    if role.max_tokens is not None and role.max_tokens < 1:
        raise InputError("A role's reply limit must be at least one token.")
    return replace(
        role, name=name, system_prompt=clean(role.system_prompt), model=role.model.strip()
    )
