"""Imports the folder of a SillyTavern user, `SillyTavern/data/default-user`: presets, lorebooks,
personas and cards become files and roles of the library, and its chats sessions that use them.

1. Of `settings.json` only what decides requests is read (`library/sillytavern_user`); nothing is
   read of `secrets.json`. Everything else in the folder is named and counted.
2. The preset of the chats is the one in use there, with the changes that were not saved.
3. A file of the library is never replaced: equal ones are used again, others get a number.
4. A file that cannot be read is a fault of the report, and the rest is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.interop.formats import FolderFormat, ImportSink
from tui_chat.library.presets import dump_preset
from tui_chat.library.roles_and_profiles import dump_profile
from tui_chat.models.json_text import (
    as_array,
    as_object,
    as_string,
    decode_lenient,
    object_or_none,
    parse_json,
)
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.sillytavern.card_files import CardFile
from tui_chat.plugins.sillytavern.cards import book_text
from tui_chat.plugins.sillytavern.lore.rules import LORE_RULES
from tui_chat.plugins.sillytavern.presets import is_sillytavern
from tui_chat.plugins.sillytavern.user_settings import UserSettings, read_user_settings
from tui_chat.plugins.sillytavern.world_info import usable_entries

if TYPE_CHECKING:
    from tui_chat.models.preset import Preset
    from tui_chat.models.role import Role
    from tui_chat.models.session import SessionTranscript

T = TypeVar("T")

SETTINGS = "settings.json"
PRESETS, WORLDS, CHARACTERS = "OpenAI Settings", "worlds", "characters"
CHATS, GROUP_CHATS = "chats", "group chats"
TAKEN = (PRESETS, WORLDS, CHARACTERS, CHATS, GROUP_CHATS)
INERT_BOOK = (
    "The lorebook in a card is searched; SillyTavern does not use it before it is imported there."
)


def is_user_folder(folder: Path) -> bool:
    """True for the folder of a SillyTavern user; blocks."""
    found = sum((folder / name).is_dir() for name in TAKEN)
    return (folder / PRESETS).is_dir() or (found >= 2 and (folder / SETTINGS).is_file())


class SillyTavernImport:
    """Imports one user's folder; see the module. Runs in a thread."""

    def __init__(self, folder: Path, report: ImportSink) -> None:
        self._folder = folder
        self._report = report
        self._user = UserSettings()
        self._preset = ""
        """The name here of the preset in use; empty for none."""
        self._books: dict[str, str] = {}
        """The names here of the lorebooks by their names there."""
        self._profiles: dict[str, str] = {}
        """The names here of the profiles by the pictures of their personas."""
        self._groups: dict[str, str] = {}
        """The names of groups by their chats."""

    def read(self, read_file: Callable[[str, Path], Iterator[T]]) -> Iterator[T]:
        """Take what goes into the library, then yield what `read_file` finds in the files of cards
        and chats, by their paths in the folder.
        """
        self._take_settings()
        self._take_presets()
        for path in self._files(WORLDS, "*.json"):
            self._guarded(path, lambda path=path: self._take_book(path))
        for picture, persona in self._user.personas.items():
            text = dump_profile(persona.profile)
            self._profiles[picture] = self._report.add("profiles", persona.profile.name, text)
        self._report.profile = self._profiles.get(self._user.persona_of("", "", ""), "")
        for path in self._files("groups", "*.json"):
            self._guarded(path, lambda path=path: self._take_group(path))
        self._name_the_rest()
        for pattern in ("*.png", "*.json", "*.charx"):
            for path in self._files(CHARACTERS, pattern):
                yield from read_file(f"{CHARACTERS}/{path.name}", path)
        for folder, pattern in ((CHATS, "*.jsonl"), (CHATS, "*/*.jsonl"), (GROUP_CHATS, "*.jsonl")):
            for path in self._files(folder, pattern):
                yield from read_file(path.relative_to(self._folder).as_posix(), path)

    # --- files of the library ------------------------------------------------------------------

    def _files(self, folder: str, pattern: str) -> list[Path]:
        found = sorted((self._folder / folder).glob(pattern))
        return [path for path in found if path.is_file() and not path.is_symlink()]

    def _take_group(self, path: Path) -> None:
        """Remember the name of a group, which titles its chats."""
        group = as_object(parse_json(read_text(path, max_bytes=MAX_BYTES), str(path)))
        for chat in (*as_array(group.get("chats")), group.get("chat_id")):
            if isinstance(chat, str) and as_string(group.get("name")):
                self._groups[chat] = as_string(group.get("name"))

    def _guarded(self, path: Path, take: Callable[[], object]) -> None:
        """Call a function; what it cannot read is a fault of the report."""
        try:
            take()
        except InputError as error:
            place = path.relative_to(self._folder).as_posix()
            sentence = str(error).removeprefix(str(path)).lstrip(":, ")
            self._report.fault(place, sentence, error.advice)

    def _take_settings(self) -> None:
        path = self._folder / SETTINGS
        if path.is_file() and not path.is_symlink():
            self._guarded(path, lambda: self._read_settings(path))
        else:
            self._report.notes["There is no settings.json: no preset is chosen."] += 1

    def _read_settings(self, path: Path) -> None:
        found = object_or_none(parse_json(read_text(path, max_bytes=MAX_BYTES), str(path)))
        if found is None:
            raise InputError(f"{path} must be an object.")
        self._user = read_user_settings(found)
        self._report.notes.update(self._user.unused)

    def _take_presets(self) -> None:
        """Take the presets, and the one in use if it was changed since it was saved."""
        saved: dict[str, Mapping[str, Any]] = {}
        presets: dict[str, Preset] = {}
        for path in self._files(PRESETS, "*.json"):
            self._guarded(path, lambda path=path: saved.update({path.stem: _read_preset(path)}))
        for name, found in saved.items():
            presets[name], notes = self._user.preset(found, name)
            self._report.notes.update(note.sentence for note in notes if note.is_loss)
        used = self._user.preset_name
        whole = {**saved.get(used, {}), **self._user.preset_keys}
        names = {name: self._add_preset(preset) for name, preset in presets.items()}
        if is_sillytavern(whole):
            now, _ = self._user.preset(whole, used or "SillyTavern")
            if used in presets and _is_equal(now, presets[used]):
                self._preset = names[used]
            else:
                title = f"{used} (unsaved changes)" if used in presets else now.name
                self._preset = self._add_preset(replace(now, name=title))
        elif used in names or (not used and len(names) == 1):
            self._preset = names[used or next(iter(names))]
        elif names:
            self._report.notes["settings.json names no preset: none is chosen for the chats."] += 1

    def _add_preset(self, preset: Preset) -> str:
        return self._report.add("presets", preset.name, dump_preset(preset))

    def _take_book(self, path: Path) -> None:
        from tui_chat.library.lorebooks import read_lorebook

        text = read_text(path, max_bytes=MAX_BYTES)
        file = read_lorebook(text, path.stem).file
        file.raise_errors(str(path))
        unused = (each for each in file.findings() if each.code == "not-supported")
        self._report.notes.update(each.sentence for each in unused)
        found = object_or_none(parse_json(text, str(path))) or {}
        usable, others = usable_entries(found.get("entries"))
        if others or list(usable.values()) != list(_values(found.get("entries"))):
            text = json.dumps({**found, "entries": usable}, indent=2, ensure_ascii=False) + "\n"
        for name in others:
            why = "SillyTavern cannot use it without a place and a list of keys"
            self._report.notes[f"Lore entry “{one_line(name, 60)}” is left out: {why}."] += 1
        self._books[path.stem] = self._report.add("lorebooks", path.stem, text)

    def _name_the_rest(self) -> None:
        """Name the other folders that have something in them."""
        for path in sorted(self._folder.iterdir()):
            if path.name not in TAKEN and path.is_dir() and any(path.iterdir()):
                self._report.notes[f"{one_line(path.name, 60)}: not imported."] += 1

    # --- roles and sessions ----------------------------------------------------------------

    def card(self, place: str, role: Role) -> Role:
        """Return the role of a card in the folder as this user has it."""
        character = role.character
        assert character is not None  # it is a card's
        allowed = self._user.allowed_characters
        if character.scripts and allowed is not None and _file_name(place) not in allowed:
            note = "The regex scripts of a card are not run, since SillyTavern does not run them."
            self._report.notes[note] += 1
            character = replace(character, scripts=())
        world = character.world
        if character.book is not None and world and world not in self._books:
            # What it was linked to is what SillyTavern made of it.
            text = book_text(CardFile(dict(character.card)))
            self._books[world] = self._report.add("lorebooks", world, text)
        if world in self._books:
            character = replace(character, world=self._books[world], book=None)
        elif world:
            self._missing_book(world)
        elif character.book is not None:
            self._report.notes[INERT_BOOK] += 1
        return replace(role, character=character, preset=role.preset or self._preset)

    def _missing_book(self, name: str) -> None:
        self._report.notes[
            f"The lorebook “{one_line(name, 60)}” is chosen, but does not exist."
        ] += 1

    def session(
        self, place: str, transcript: SessionTranscript, roles: Mapping[str, Role]
    ) -> SessionTranscript:
        """Return a chat in the folder with its role, profile, preset and lorebooks; `roles` are
        those of the cards by their paths in the folder.
        """
        parts = place.split("/")
        stem = parts[1] if parts[0] == CHATS and len(parts) == 3 else ""
        card = next((each for each in roles if stem and Path(each).stem == stem), "")
        role = roles.get(card) or next(
            (each for each in roles.values() if each.name == transcript.character), None
        )
        chosen = _persona_of_chat(self._folder / place)
        persona = self._user.persona_of(chosen, _file_name(card), transcript.user)
        profile = self._profiles.get(persona, "")
        session, settings = transcript.session, transcript.session.settings
        if parts[0] == GROUP_CHATS:
            if group := self._groups.get(Path(parts[-1]).stem):
                session = replace(session, title=group)
            # In a group {{char}} is who speaks.
            spoken = (e.message for e in reversed(transcript.entries) if e.message.name)
            last = next((each.name for each in spoken if each.role == "assistant"), "")
            transcript = replace(transcript, character=transcript.character or last)
        if not profile:
            settings = replace(settings, user_name=transcript.user or None)
        if role is None:
            settings = replace(settings, char_name=transcript.character or None)
        note = settings.author_note
        if note is not None and self._user.note_is_searched:
            settings = replace(settings, author_note=replace(note, searched=True))
        if not self._preset:  # which would have them
            given = self._user.settings
            note = settings.author_note or given.author_note
            settings = replace(
                settings,
                lore=given.lore,
                reply_start=given.reply_start,
                scripts=given.scripts,
                author_note=note,
                global_variables=given.global_variables,
            )
        names, tiers = self._session_books(next(iter(session.lorebooks), ""), persona, stem, role)
        if len(set(tiers)) > 1:
            rules = self._user.settings.lore or LORE_RULES
            settings = replace(settings, lore=replace(rules, tiers=tiers))
        session = replace(
            session,
            role_id=role.role_id if role is not None else None,
            profile=profile,
            preset=self._preset,
            lorebooks=names,
            settings=settings,
        )
        return replace(transcript, session=session, role=role)

    def _session_books(
        self, chat: str, persona: str, stem: str, role: Role | None
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the lorebooks of a session, and their tiers with that of the card's own one."""
        character = role.character if role is not None else None
        here = {name: name for name in self._books.values()}
        linked = character.world if character is not None else ""
        there = next((name for name, own in self._books.items() if own == linked), linked)
        found = self._user.books(chat, persona, stem, there)
        names: list[str] = []
        tiers: list[int] = []
        for name, tier in zip(found.names, found.tiers, strict=True):
            if (own := self._books.get(name, here.get(name))) is not None:
                names.append(own)
                tiers.append(tier)
            elif name != linked:  # that one is noted with its card
                self._missing_book(name)
        book = character.book if character is not None else None
        if book is not None and book.name not in names:
            tiers.append(found.own_tier)
        return tuple(names), tuple(tiers)


def _values(entries: object) -> Iterable[object]:
    found = object_or_none(entries)
    return as_array(entries) if found is None else found.values()


def _read_preset(path: Path) -> Mapping[str, Any]:
    found = object_or_none(parse_json(read_text(path, max_bytes=MAX_BYTES), str(path)))
    if found is None or not is_sillytavern(found):
        raise InputError(f"{path} is not a preset for chat completions.")
    return found


def _is_equal(now: Preset, saved: Preset) -> bool:
    """True if two presets give the same requests."""
    before, after = (replace(each.without_builder_keys(), name="") for each in (saved, now))
    return before == after


def _file_name(place: str) -> str:
    """Return the name of a card as SillyTavern keeps it: a picture."""
    return f"{Path(place).stem}.png" if place else ""


def _persona_of_chat(path: Path) -> str:
    """Return the picture of the persona in a chat: that of its lock, else the one of the user's
    last message; empty if it has none.
    """
    locked, spoken = "", ""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for text in lines:
            if '"force_avatar"' not in text and '"chat_metadata"' not in text:
                continue
            try:
                line = as_object(decode_lenient(text))
            except ValueError:
                continue
            facts = as_object(line.get("chat_metadata"))
            locked = locked or as_string(facts.get("persona"))
            if line.get("is_user") is True and (avatar := as_string(line.get("force_avatar"))):
                spoken = avatar.rpartition("file=")[2].rpartition("/")[2]
    return locked or spoken


USER_FOLDER = FolderFormat(is_user_folder, SillyTavernImport)
