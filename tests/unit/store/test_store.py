"""Roles, drafts and settings; limits of the store, and closing it."""

from __future__ import annotations

import json

import pytest

from tests.support.strategies import EVERY_SETTING
from tui_chat.errors import InputError, StoreError
from tui_chat.models.role import Role
from tui_chat.store import Store


async def test_roles_are_saved_changed_and_sorted(store: Store) -> None:
    pirate = Role("r1", "pirate", "Arr.", "m", EVERY_SETTING, "sea", "disabled")
    await store.roles.save(pirate)
    await store.roles.save(Role("r2", "Baker"))
    assert await store.roles.get("r1") == pirate
    assert [role.name for role in await store.roles.list()] == ["Baker", "pirate"]
    changed = Role("r1", "Admiral")
    await store.roles.save(changed)
    assert await store.roles.list() == (changed, Role("r2", "Baker"))
    with pytest.raises(InputError):
        await store.roles.save(Role("", "nobody"))


async def test_a_role_can_be_disabled_under_its_sessions(store: Store) -> None:
    await store.roles.save(Role("r", "Pirate"))
    made = await store.sessions.create(role_id="r")
    await store.roles.save(Role("r", "Pirate", status="disabled"))
    assert await store.sessions.get(made.session_id) == made
    assert (await store.sessions.list())[0].role_name == "Pirate"


async def test_drafts_and_settings_are_stored(store: Store) -> None:
    made = await store.sessions.create()
    for text in ("Dear", "Dear 先生\n", "", "again"):
        await store.drafts.save(made.session_id, text)
        assert await store.drafts.get(made.session_id) == text
    for value in ("one", "", json.dumps({"two": 2})):
        await store.settings.set("last_session", value)
        assert await store.settings.get("last_session") == value


async def test_numbers_too_large_for_sqlite_are_refused(store: Store) -> None:
    made = await store.sessions.create()
    with pytest.raises(InputError):
        await store.sessions.update(made.session_id, pinned=2**63)  # type: ignore[arg-type]
    assert await store.sessions.get(made.session_id) == made


async def test_a_closed_store_is_an_error(store: Store) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.sessions.list()
