"""Presets, roles and profiles in `tui-chat library`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tui_chat import hooks
from tui_chat.cli.app import open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import FindingDocument, Item, LibraryKind, Listed, excerpt, export
from tui_chat.cli.names import find_role
from tui_chat.cli.output import Styled, document_json, write_line
from tui_chat.cli.workspace import command_workspace
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, STANDARD_INPUT, read_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.foreign_files import card_files, first_preset_files, import_preset_file
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset, load_preset
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage, depth_words
from tui_chat.models.role import Profile, Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_types import settings_json


def _write_facts(facts: Mapping[str, Any], form: str = "{} = {}") -> None:
    for key, value in facts.items():
        if value != "":
            write_line("  ", one_line(form.format(key, value), 200))


# Presets


@dataclass(frozen=True, slots=True)
class PresetDocument:
    """A preset in a list; `messages` is their number, without anchors."""

    name: str
    path: str
    bundled: bool
    messages: int | None
    error: str | None


class _Presets(LibraryKind[Preset]):
    noun = "preset"
    formats = (*(plugin.name for plugin, _ in hooks.parts_at("preset reader")), "tui-chat")
    head = ("NAME", "MESSAGES", "FROM")
    narrowed = ((1, 10), (2, 20))

    def items(self, common: CommonOptions) -> list[Item[Preset]]:
        library = open_library(common.config())
        return [
            _preset(name, path, is_bundled=library.is_ours(name))
            for name, path in library.files("presets").items()
        ]

    def find(self, common: CommonOptions, name: str) -> Item[Preset]:
        """Return the preset with a name, or at a path, which need not exist."""
        path = Path(name)
        if path == STANDARD_INPUT or path.exists():
            return _preset(path.stem, path)
        is_path = path.suffix or path.name != name
        if is_path and name not in open_library(common.config()).files("presets"):
            return _preset(path.stem, path)  # reading it says what is wrong
        return super().find(common, name)

    def row(self, listed: Listed[Preset]) -> tuple[str, ...]:
        preset, item = listed.value, listed.item
        count = str(_messages_of(preset)) if preset else f"error: {listed.error}"
        return item.name, count, "bundled" if item.is_bundled else item.place

    def document(self, listed: Listed[Preset]) -> PresetDocument:
        preset, item = listed.value, listed.item
        count = _messages_of(preset) if preset else None
        return PresetDocument(item.name, item.place, item.is_bundled, count, listed.error or None)

    def describe(self, value: Preset) -> None:
        _write_facts(settings_json(value.settings))
        _write_facts(value.variables, "{{{{{}}}}} = {}")
        names = {each.anchor_id: each.name for each in value.messages if each.is_anchor}
        names[CHAT_HISTORY] = "the history"
        for number, message in enumerate(value.messages, 1):
            off = "" if message.enabled else " (disabled)"
            place = one_line(_place(message, names), 200)
            write_line(f"{number:>3}  {message.role:<9}  ", place, off)
            for line in sanitize(message.content).splitlines():
                write_line(f"       {line}")

    def export(self, item: Item[Preset], output: Path | None, form: str) -> None:
        """Write a preset; an imported one keeps what its file had."""
        value = item.read()
        if form == "tui-chat":
            export(sanitize(dump_preset(value), "json").encode(), output)
        else:
            exported = first_preset_files().write(value)
            export(exported.text.encode(), output, exported.notes)

    def findings(self, item: Item[Preset]) -> Iterator[FindingDocument]:
        """Yield the errors, warnings and hints of a preset or lorebook."""
        path = Path(item.place)
        try:
            text = read_file_text(path)
        except InputError as error:
            sentence = f"{error} {error.advice}".removeprefix(str(path)).strip(": ")
            yield FindingDocument(item.place, 1, 1, "error", "unreadable", sentence, "")
            return
        for each in check_preset(text, path.stem):
            place = (str(path), each.line, each.column)
            yield FindingDocument(*place, each.level.value, each.code, each.sentence, each.path)

    def add_file(self, common: CommonOptions, file: Path, name: str) -> Path:
        """Convert a preset of another program; what changed goes to stderr."""
        own = open_library(common.config())
        imported = import_preset_file(file, name)
        for note in imported.notes:
            write_line(f"{note.level}: {one_line(note.sentence)}", err=True)
        return own.preset_file(own.add_preset(imported.preset))


def _preset(name: str, path: Path, *, is_bundled: bool = False) -> Item[Preset]:
    text = partial(read_file_text, path)
    return Item(name, str(path), partial(load_preset, path), text, is_bundled)


def _messages_of(preset: Preset) -> int:
    """Return the number of messages, without the anchors."""
    return sum(not message.is_anchor for message in preset.messages)


def _place(message: PresetMessage, names: Mapping[str, str]) -> str:
    """Return what a preset message is and where it goes, in a few words; `names` are those of the
    anchors, by id.
    """
    name = message.name or message.id
    if message.is_anchor:
        return f"{name}: the place of {message.type.replace('_', ' ')}"
    if message.insertion_point is not None:
        return f"{name}: {depth_words(message.insertion_point)}"
    if message.anchor_target or message.anchor_point:
        target = message.anchor_target or CHAT_HISTORY
        return f"{name}: {message.anchor_point or 'after'} {names.get(target) or target}"
    return name


# Roles


@dataclass(frozen=True, slots=True)
class RoleDocument:
    """A role in a list, and in the form of a role file."""

    role_id: str
    name: str
    system_prompt: str
    model: str
    parameters: dict[str, Any]
    preset: str
    status: str


@dataclass(frozen=True, slots=True)
class _StoredRole:
    role: Role
    picture: bytes = b""
    description: str = ""
    """The beginning of the description in its character card."""

    @property
    def name(self) -> str:
        return self.role.name

    def document(self) -> RoleDocument:
        role = self.role
        texts = (role.role_id, role.name, role.system_prompt, role.model)
        return RoleDocument(*texts, settings_json(role.settings), role.preset, role.status)

    def item(self) -> Item[_StoredRole]:
        def text() -> str:
            document = document_json(self.document())
            return sanitize(json.dumps(document, indent=2, ensure_ascii=False), "json")

        return Item(self.name, self.role.role_id, lambda: self, text)


class _Roles(LibraryKind[_StoredRole]):
    noun = "role"
    head = ("NAME", "MODEL", "PRESET", "STATUS", "PROMPT")
    narrowed = ((4, 20),)

    @synchronous
    async def items(self, common: CommonOptions) -> list[Item[_StoredRole]]:
        async with command_workspace(common.config(), create=False) as (workspace, _):
            described = await workspace.store.roles.descriptions()
            roles = workspace.state.roles
        return [
            _StoredRole(role, description=described.get(role.role_id, "")).item() for role in roles
        ]

    @synchronous
    async def find(self, common: CommonOptions, name: str) -> Item[_StoredRole]:
        """Return the role with this name or id, with its character card."""
        async with command_workspace(common.config(), create=False) as (workspace, _):
            role = find_role(workspace.state.roles, name)
            whole = await workspace.store.roles.get(role.role_id) or role
            picture = await workspace.store.roles.picture(role.role_id)
        return _StoredRole(whole, picture).item()

    def row(self, listed: Listed[_StoredRole]) -> tuple[str, ...]:
        stored = listed.item.read()
        role = stored.role
        prompt = excerpt(role.system_prompt or stored.description.partition("\n")[0])
        return role.name, role.model or "—", role.preset or "—", role.status, prompt

    def document(self, listed: Listed[_StoredRole]) -> RoleDocument:
        return listed.item.read().document()

    def describe(self, value: _StoredRole) -> None:
        role, card = value.role, value.role.character
        facts = {"model": role.model, "preset": role.preset, "status": role.status}
        _write_facts(facts | settings_json(role.settings))
        if card is not None:
            description = card.description.strip().partition("\n")[0]
            facts = {"creator": card.creator, "version": card.version, "tags": ", ".join(card.tags)}
            _write_facts({"description": description} | facts)
        if value.picture:
            write_line("  ", f"picture = {len(value.picture):,} bytes; roles export writes it")
        if role.system_prompt:
            write_line("\n", role.system_prompt)
        if card is not None and card.creator_notes:
            write_line("\n", Styled("Creator's notes", bold=True))
            write_line(card.creator_notes)

    def export(self, item: Item[_StoredRole], output: Path | None, form: str) -> None:
        """Write a role as a character card, with all that its file had."""
        stored = item.read()
        ending = output.suffix.lower() if output else ".json"
        export(card_files().write(stored.role, stored.picture, ending), output)


# Profiles


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """A profile in a list; `user` is the name in it."""

    name: str
    path: str
    user: str
    content: str


class _Profiles(LibraryKind[Profile]):
    noun = "profile"
    head = ("NAME", "USER", "CONTENT")
    narrowed = ((2, 20),)

    def items(self, common: CommonOptions) -> list[Item[Profile]]:
        library = open_library(common.config())
        return [
            Item(
                name,
                str(path),
                partial(library.profile, name),
                partial(read_text, path, max_bytes=MAX_BYTES),
            )
            for name, path in library.files("profiles").items()
        ]

    def row(self, listed: Listed[Profile]) -> tuple[str, ...]:
        document = self.document(listed)
        return document.name, document.user, excerpt(document.content)

    def document(self, listed: Listed[Profile]) -> ProfileDocument:
        profile, item = listed.value, listed.item
        user, text = (profile.name, profile.content) if profile else ("", f"error: {listed.error}")
        return ProfileDocument(item.name, item.place, user, text)

    def describe(self, value: Profile) -> None:
        write_line(value.content)


PRESETS, ROLES, PROFILES = _Presets(), _Roles(), _Profiles()
