"""What sessions are made with, and what the program remembers between two runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tui_chat.errors import StoreError
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.store import library, memory, roles
from tui_chat.store.api.base import Base
from tui_chat.store.database import Transaction


class Library(Base):
    """The store's methods for roles, profiles, revisions, variables, drafts and settings."""

    # Roles

    async def save_role(self, role: Role) -> None:
        """Add a role, or change the one that has its id."""
        now = self._now()
        await self._database.write(lambda tx: roles.save(tx, role, now))

    async def role(self, role_id: str) -> Role | None:
        """Return a role, None if there is none."""
        return await self._database.read(lambda tx: roles.find(tx, role_id))

    async def roles(self) -> tuple[Role, ...]:
        """Return all roles by name, disabled ones too."""
        return await self._database.read(roles.every)

    async def delete_role(self, role_id: str) -> None:
        """Remove a role; its sessions stay, without one. One that is gone stays gone."""
        await self._database.write(lambda tx: roles.delete(tx, role_id))

    # Profiles

    async def save_profile(self, profile: Profile) -> None:
        """Add a profile, or change the one that has its name. `InputError` without a name."""
        now = self._now()
        await self._database.write(lambda tx: library.save_profile(tx, profile, now))

    async def profile(self, name: str) -> Profile | None:
        """Return a profile, None if there is none."""
        return await self._database.read(lambda tx: library.profile(tx, name))

    async def profiles(self) -> tuple[Profile, ...]:
        """Return all profiles by name."""
        return await self._database.read(library.profiles)

    async def delete_profile(self, name: str) -> None:
        """Remove a profile for good; sessions that name it stay as they are."""
        await self._database.write(lambda tx: library.remove_profile(tx, name))

    # What requests were made of

    async def keep_revision(self, kind: str, json: str) -> str:
        """Keep a preset, role, profile or lorebook as it is now; return its SHA-256 in hex, by
        which it is found again. The same JSON is kept once.
        """
        now = self._now()
        return await self._database.write(lambda tx: library.keep_revision(tx, kind, json, now))

    async def revision(self, sha256: str) -> str | None:
        """Return the JSON that was kept, None if it never was."""
        return await self._database.read(lambda tx: library.revision(tx, sha256))

    # Variables of a session

    async def variables(self, session_id: str) -> dict[str, str]:
        """Return what macros remembered in a session, by name."""
        return await self._database.read(lambda tx: library.variables(tx, session_id))

    async def save_variables(self, session_id: str, variables: Mapping[str, str]) -> None:
        """Make these the variables of a session; others it had go. `StoreError` if it is gone."""
        values = dict(variables)
        await self._database.write(lambda tx: library.save_variables(tx, session_id, values))

    # What the program remembers

    async def draft(self, session_id: str) -> str:
        """Return what was being typed in a session, empty where nothing was."""
        unsaved = self._unsaved_texts.get(f"draft {session_id}")
        if unsaved is not None:
            return unsaved
        return await self._database.read(lambda tx: memory.draft(tx, session_id))

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is being typed. `RecordGone` if the session is gone; another `StoreError`
        where it is in memory only, until the file can be written to.
        """
        key = f"draft {session_id}"
        await self._write_text(key, text, lambda tx: memory.save_draft(tx, session_id, text))

    async def remember(self, key: str, value: str) -> None:
        """Keep a setting of the program, such as the session that was open last. `StoreError`
        where it is in memory only, until the file can be written to.
        """
        await self._write_text(f"setting {key}", value, lambda tx: memory.remember(tx, key, value))

    async def recall(self, key: str) -> str | None:
        """Return what was remembered, None where nothing was."""
        unsaved = self._unsaved_texts.get(f"setting {key}")
        if unsaved is not None:
            return unsaved
        return await self._database.read(lambda tx: memory.recall(tx, key))

    async def recent_prompts(
        self, limit: int = 200, longest: int = 20_000
    ) -> tuple[tuple[str, str], ...]:
        """Return session id and text of the newest user messages, the newest first. Longer ones
        than `longest` characters are left out.
        """
        return await self._database.read(lambda tx: memory.recent_prompts(tx, limit, longest))

    async def _write_text(
        self, key: str, text: str, work: Callable[[Transaction], Awaitable[None]]
    ) -> None:
        """Write a text, or keep it in memory under `key` until it can be written."""

        def written(_: None) -> None:
            self._unsaved_texts.pop(key, None)

        try:
            await self._database.write_or_defer(key, work, committed=written)
        except StoreError:
            if key in self._database.deferred:
                self._unsaved_texts[key] = text
            raise
