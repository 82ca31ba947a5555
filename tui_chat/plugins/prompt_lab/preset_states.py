"""The states of presets: every content that a preset's file had when it was saved here.

1. A state is kept when a preset is saved, with what the file had before, so that the first one is
   not lost. That happens after the event; nothing is read at the start.
2. Its content is a revision of the core, as recipes have: stored once, whatever names it, and never
   dropped.
3. A preset that is renamed takes its states along; those of a deleted one stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.preset import Preset
from tui_chat.plugins.prompt_lab.results import prepare_tables
from tui_chat.request_recipe import preset_revision
from tui_chat.store import Store
from tui_chat.store.database import Transaction
from tui_chat.store.requests import save_revision
from tui_chat.workspace.events import PresetRenamed, PresetSaved
from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PresetState:
    """A content of a preset's file."""

    number: int
    """Its number among the states of all presets, from 1; 0 for one that only a request has."""
    name: str
    """The name of the preset's file."""
    saved: float
    """The time of saving, in seconds since the epoch."""
    sha256: str
    """The revision with its content."""
    sent: str
    """The hash by which recipes name it."""

    @property
    def time(self) -> str:
        """The local time of saving, in words."""
        return f"{datetime.fromtimestamp(self.saved).astimezone():%Y-%m-%d %H:%M}"


async def keep_saved(workspace: Workspace, event: PresetSaved) -> None:
    """Keep the state of a preset that was saved, and the one before."""
    before, now = event.before, workspace.now().timestamp()
    states = await PresetStates.open(workspace.store)
    if before is not None:
        written = before.stamp[1] / 1e9 if before.stamp is not None else now
        await states.keep(event.name, before.edits.saved, min(written, now))
    await states.keep(event.name, event.preset, now)


async def follow_rename(workspace: Workspace, event: PresetRenamed) -> None:
    """Give the states of a preset its new name."""
    await (await PresetStates.open(workspace.store)).rename(event.before, event.name)


class PresetStates:
    """The states of presets in a database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database

    @classmethod
    async def open(cls, store: Store) -> PresetStates:
        """Return the states in a database; its tables are made if they are missing. Raises
        StoreError.
        """
        await prepare_tables(store.database)
        return cls(store)

    async def keep(self, name: str, preset: Preset, saved: float) -> None:
        """Keep a state, unless it is the preset's last one."""
        text, sent = pack(preset), preset_revision(preset)

        async def write(tx: Transaction) -> None:
            sha256 = await save_revision(tx, "preset", text, saved)
            last = await tx.row(
                "SELECT sha256 FROM lab_preset_states WHERE name = ? ORDER BY number DESC LIMIT 1",
                name,
            )
            if last is None or last[0] != sha256:
                await tx.run(
                    "INSERT INTO lab_preset_states (name, saved, sha256, sent) VALUES (?, ?, ?, ?)",
                    *(name, saved, sha256, sent),
                )

        await self._database.write(write)

    async def rename(self, before: str, name: str) -> None:
        """Give the states of a preset another name."""
        sql = "UPDATE lab_preset_states SET name = ? WHERE name = ?"
        await self._database.write(lambda tx: tx.run(sql, name, before))

    async def of_preset(self, name: str) -> tuple[PresetState, ...]:
        """Return the states of a preset, the newest first."""
        rows = await self._database.rows(
            "SELECT number, name, saved, sha256, sent FROM lab_preset_states WHERE name = ? "
            "ORDER BY number DESC",
            name,
        )
        return tuple(PresetState(*row) for row in rows)

    async def read(self, state: PresetState) -> Preset:
        """Return the content of a state. Raises InputError if it is gone."""
        text = await self._store.revisions.get(state.sha256)
        if text is None:
            raise InputError(f"The state of {state.time} is not kept any more.")
        return unpack(Preset, text)


def changes(before: Preset | None, now: Preset) -> str:
    """Return what differs between two states, in a few words."""
    if before is None:
        return "the first state kept"
    was = {message.id: message for message in before.messages}
    here = {message.id: message for message in now.messages}
    both = [name for name in here if name in was]
    counts = {
        "added": len(here.keys() - was.keys()),
        "removed": len(was.keys() - here.keys()),
        "changed": sum(here[name] != was[name] for name in both),
        "moved": int(both != [name for name in was if name in here]),
    }
    words = [f"{count} {word}" for word, count in counts.items() if count and word != "moved"]
    words += ["moved"] if counts["moved"] else []
    return ", ".join(words) or ("settings" if before != now else "the same")


async def with_changes(
    states: PresetStates, listed: Sequence[PresetState]
) -> list[tuple[PresetState, Preset, str]]:
    """Return states, the newest first, each with its content and what it changed."""
    presets = [await states.read(state) for state in listed]
    before = [*presets[1:], None][: len(presets)]
    rows = zip(listed, presets, before, strict=True)
    return [(state, preset, changes(was, preset)) for state, preset, was in rows]
