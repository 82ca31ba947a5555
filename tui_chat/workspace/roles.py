"""Roles: which there are, and which one a new chat starts with.

1. A session is bound to its role when it is created, and keeps it. Until then it can be changed.
2. A disabled role starts no session. A session whose role was disabled or deleted later opens, says
   so, and sends nothing until it is enabled again or the user goes on without it.
3. A role file in `roles/` is imported when it is new or was changed, also while the app runs. What
   is changed in the app meanwhile stays until the file changes again; deleting a file deletes no
   role.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tui_chat.errors import InputError
from tui_chat.models.role import FIRST_ROLE_NAME, Character, Role
from tui_chat.models.settings import SettingError, read_settings, settings_json
from tui_chat.models.text import clean
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Done, Failed
from tui_chat.workspace.settings import SessionSetup

if TYPE_CHECKING:
    from tui_chat.library.library import FileStamp
    from tui_chat.library.typed_fields import Values

FIRST_ROLE = Role(
    role_id="assistant",
    name=FIRST_ROLE_NAME,
    system_prompt=(
        "You are a helpful assistant. Answer in Markdown, precisely and to the point, and say so "
        "when you do not know."
    ),
)
"""The role that an empty database starts with."""

_NO_ROLE = ""
"""Stands for no role in the list of the roles that were used last."""

_RECENT = "roles_used"
"""The name of the stored setting that holds the ids of the roles that were used last."""

MAX_RECENT_ROLES = 50
"""Roles whose order of use is remembered; the others follow by name."""


class Roles:
    """The roles in the store."""

    def __init__(self, core: WorkspaceCore, settings: SessionSetup) -> None:
        self.core = core
        self._settings = settings
        self._recent: list[str] = []
        """The ids of the roles that were used last, `_NO_ROLE` among them; the last one first."""
        self._files: dict[str, FileStamp] = {}
        """The role files by name, as they were imported last."""

    async def load(self) -> None:
        """Read the roles; create the first one in an empty database. Raises StoreError."""
        store = self.core.store
        await self.import_changed_files()
        if await store.settings.get("roles_begun") is None:
            if not await store.roles.list():
                await store.roles.save(FIRST_ROLE)
            await store.settings.set("roles_begun", "yes")  # a user who deletes it does not want it
        await self.refresh()

    @reported(b"")
    async def picture(self, role_id: str) -> bytes:
        """Return a card's picture (PNG); empty without one, or, reported, if it is unreadable."""
        return await self.core.store.roles.picture(role_id)

    async def to_start_with(self, role_id: str | None) -> Role | None:
        """Return the role of a new chat, see `Sessions.new`. Raises InputError if unusable."""
        await self.refresh()
        roles = self.core.state.roles
        if role_id is None and not self.core.remembers:
            return None
        if role_id is None:
            recent = self._recent
            enabled = [role for role in roles if role.status == "enabled"]
            if recent[:1] == [_NO_ROLE] or not enabled:
                return None
            return await self.core.store.roles.get(enabled[0].role_id)
        return await self.core.store.roles.require_enabled(role_id) if role_id else None

    def settings_after_use(self, role_id: str) -> dict[str, str]:
        """Return the setting that remembers that a session began with a role; empty for none."""
        recent = [role_id, *(other for other in self._recent if other != role_id)]
        return {_RECENT: json.dumps(recent[:MAX_RECENT_ROLES])}

    def after_use(self, role_id: str) -> tuple[Role, ...]:
        """Return the roles in their order once that is stored."""
        if self.core.remembers:
            self._recent = json.loads(self.settings_after_use(role_id)[_RECENT])
        return self._in_order(self.core.state.roles)

    @reported(None)
    async def save(self, role: Role) -> Role | None:
        """Add a role (without an id) or change the one with its id; its status disables it. Return
        the role as stored; None if it is not valid, which is reported.
        """
        core = self.core
        role = _validated(role)
        role = replace(role, role_id=role.role_id or core.new_id())
        await core.store.roles.save(role)
        await self._show_changed(role.role_id, await core.store.roles.get(role.role_id))
        return role

    async def save_card(self, role_id: str, card: Mapping[str, Any]) -> None:
        """Give a role another card's character. Raises InputError, also for a bad lorebook."""
        from tui_chat.library.foreign_files import card_files

        role = await self.core.store.roles.get(role_id)
        if role is None:
            raise InputError("This role does not exist.")
        character = card_files().character(card, f"the card of {role.name}")
        await self.core.store.roles.save(replace(role, character=character))
        await self._show_changed(role_id, await self.core.store.roles.get(role_id))

    async def edit_character(self, role_id: str, shown: Values, values: Values) -> None:
        """Give a role's character the changed values. Raises InputError."""
        from tui_chat.library.foreign_files import card_files

        changed = {name: value for name, value in values.items() if value != shown[name]}
        if not changed:
            return
        cards = card_files()
        role = await self.core.store.roles.get(role_id)
        if role is None:
            raise InputError("This role does not exist.")
        now = cards.values(role.character or Character())
        await self.save_card(role_id, cards.edit(role, {**now, **changed}))
        self.core.publish(Done(f"Changed the character of {role.name}."))

    @reported(None)
    async def delete(self, role_id: str) -> None:
        """Delete a role; its sessions stay, and say so."""
        await self.core.store.roles.delete(role_id)
        await self._show_changed(role_id, None)

    @reported(None)
    async def go_on_without(self) -> None:
        """Take a role that was disabled or deleted from the active session."""
        core, session = self.core, self.core.state.session
        if session is None or not core.state.role_fault:
            return
        session = await core.active_store.sessions.update(
            session.session_id, role_id=None, lost_role=""
        )
        core.update(BranchChanged(), session=session, role=None, role_missing=False)

    async def check(self) -> None:
        """Read the roles again, and show what another program changed. Raises StoreError."""
        core, shown = self.core, self.core.state.role
        await self.refresh()
        if shown is None:
            return
        role = await core.store.roles.get(shown.role_id)
        if role != shown and core.state.role is shown:
            await self._show_changed(shown.role_id, role)

    async def _show_changed(self, role_id: str, role: Role | None) -> None:
        """Update the state to a changed role; None if it was deleted."""
        core = self.core
        await self.refresh()
        state = core.state
        if state.session is not None and state.session.role_id == role_id:
            before = state.role_fault
            core.update(role=role, role_missing=role is None)
            fault = core.state.role_fault
            if fault and not before:
                core.publish(Done(f"The role was {fault}: this session sends nothing with it."))
        elif state.session is None and state.role is not None and state.role.role_id == role_id:
            enabled = role is not None and role.status == "enabled"
            role = await self.to_start_with(role_id if enabled else None)
            await self._settings.apply_new_chat(role)
        core.publish(BranchChanged())

    async def refresh(self) -> None:
        """Read the list of roles again. Raises StoreError."""
        self._recent = await self._recalled(_RECENT, list) or []
        self.core.update(roles=self._in_order(await self.core.store.roles.list()))

    def _in_order(self, roles: Iterable[Role]) -> tuple[Role, ...]:
        """Return roles by their last use, the disabled ones last."""
        ranks = {role_id: rank for rank, role_id in enumerate(self._recent)}
        last = len(ranks)
        order = sorted(roles, key=lambda role: ranks.get(role.role_id, last))
        return tuple(sorted(order, key=lambda role: role.status == "disabled"))

    async def import_changed_files(self) -> bool:
        """Import the role files that are new or changed; return True if there were any. Raises
        StoreError.
        """
        library, store = self.core.library, self.core.store
        files = library.stamps("roles")
        if files == self._files:
            return False
        self._files = files
        imported: dict[str, str] = await self._recalled("role_files", dict) or {}
        digests = dict(imported)
        for name in files:
            try:
                text = library.text("roles", name)
                digest = sha256(text.encode()).hexdigest()
                if digests.get(name) != digest:
                    self.core.report_doubts("roles", name)
                    await store.roles.save(_validated(library.role(name, text)))
                    digests[name] = digest
            except InputError as error:
                self.core.publish(Failed(error))
        if digests == imported:
            return False
        await store.settings.set("role_files", json.dumps(digests))
        return True

    async def _recalled(self, key: str, kind: type) -> Any:
        """Return a stored setting parsed as JSON; None if there is none of this type."""
        text = await self.core.store.settings.get(key)
        try:
            value = json.loads(text) if text else None
        except ValueError:
            return None
        return value if isinstance(value, kind) else None


def _validated(role: Role) -> Role:
    """Return a role with its text cleaned. Raises InputError naming the fault."""
    name = " ".join(clean(role.name).split())
    if not name:
        raise InputError("A role needs a name.")
    try:
        read_settings(settings_json(role.settings))
    except SettingError as error:
        raise InputError(f"The role “{name}”: {error}.") from error
    return replace(
        role, name=name, system_prompt=clean(role.system_prompt), model=role.model.strip()
    )
