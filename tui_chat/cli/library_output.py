"""`tui-chat presets`, `roles`, `profiles` and `lorebooks`: what there is, printed as text or JSON.

Lorebooks are those of files and of character cards, and are exported here, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_chat.cli import output
from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find, find_role
from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.cli.workspace import (
    command_workspace,
)
from tui_chat.context.lorebooks.description import describe_conditions, describe_place
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, STANDARD_INPUT, read_text, write_bytes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.foreign_files import card_files, first_lore_form, has_card_files
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.presets import load_preset
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_json import settings_json

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.lorebook import Lorebook
    from tui_chat.models.preset import Preset, PresetMessage
    from tui_chat.models.role import Role

EXCERPT = 60
"""Characters of a text that a list shows."""


@dataclass(frozen=True, slots=True)
class FoundLorebook:
    """A lorebook and where it is."""

    name: str
    place: str
    """Its file, or the card that has it."""
    path: Path | None = None
    """None for a lorebook in a card."""
    card_text: str = ""

    @property
    def text(self) -> str:
        """The file. Raises InputError."""
        return self.card_text if self.path is None else read_file_text(self.path)

    @property
    def book(self) -> Lorebook:
        """The lorebook. Raises InputError."""
        return parse_lorebook(self.text, self.place, self.name)


def _all(common: CommonOptions) -> Mapping[str, FoundLorebook]:
    """Return the lorebooks by name; one of a file goes before one of a card."""

    async def roles() -> list[Role]:
        async with command_workspace(common.config(), create=False) as (workspace, _):
            there = workspace.state.roles
            found = [await workspace.store.roles.get(role.role_id) for role in there]
            return [role for role in found if role is not None]

    found = {
        name: FoundLorebook(name, str(path), path)
        for name, path in open_library(common.config()).files("lorebooks").items()
    }
    cards = card_files() if has_card_files() else None
    for role in asyncio.run(roles()):
        text = cards.book_text(role.character.card) if cards and role.character else ""
        if text and role.character is not None and role.character.book is not None:
            name = role.character.book.name
            found.setdefault(name, FoundLorebook(name, f"card of {role.name}", None, text))
    return found


def _named(common: CommonOptions, name: str) -> FoundLorebook:
    """Return the lorebook with a name or a path. Raises InputError."""
    path = Path(name)
    if path.suffix.lower() == ".json":
        return FoundLorebook(path.stem, name, path)
    found = _all(common)
    return found[find("lorebook", name, tuple(found))]


def list_lorebooks(common: CommonOptions, *, as_json: bool) -> None:
    """Print the lorebooks. A file with errors is listed with its fault."""
    rows: list[tuple[FoundLorebook, Lorebook | None, str]] = []
    for each in _all(common).values():
        try:
            rows.append((each, each.book, ""))
        except InputError as error:
            rows.append((each, None, str(error).removeprefix(f"{each.place}: ")))
    if as_json:
        write_json(
            [
                {
                    "name": each.name,
                    "place": each.place,
                    "entries": len(book.entries) if book is not None else None,
                    "error": fault or None,
                }
                for each, book, fault in rows
            ]
        )
        return
    table = [("NAME", "ENTRIES", "FROM")]
    for each, book, fault in rows:
        count = f"{len(book.entries):,}" if book is not None else f"error: {fault}"
        table.append((one_line(each.name), one_line(count), one_line(each.place)))
    if rows:
        write_line(output.table(table, (1, 10), (2, 20)))
    else:
        folder = common.config().config_dir / "lorebooks"
        write_line(f"There are no lorebooks. They are JSON files in {folder}.", err=True)


def show_lorebook(common: CommonOptions, name: str, *, as_json: bool) -> None:
    """Print a lorebook: entries with conditions and places, or its file. Raises InputError."""
    found = _named(common, name)
    if as_json:
        output.write_request(sanitize(found.text.rstrip("\n"), "json"))
        return
    book = found.book
    write_line(Styled(one_line(book.name), bold=True), f"  {one_line(found.place)}")
    for number, entry in enumerate(book.entries, 1):
        off = "" if entry.enabled else " (disabled)"
        keys = "always" if entry.constant else ", ".join(entry.keys) or "no keys"
        name = one_line(entry.name or entry.id, 60)
        write_line(f"{number:>4}  {name}: {one_line(keys, 120)}  → {_entry_place(entry)}{off}")
        for condition in describe_conditions(entry):
            write_line(f"      · {one_line(condition)}")
        for line in sanitize(entry.content).splitlines():
            write_line(f"      {line}")


def _entry_place(entry: LorebookEntry) -> str:
    """Return where an entry goes, its order if that is not the usual one, and its role."""
    order = f", order {entry.order}" if entry.order != LorebookEntry("").order else ""
    return f"{one_line(describe_place(entry), 80)}{order}, {entry.role}"


def run_lorebook_export(common: CommonOptions, name: str, path: Path | None) -> None:
    """Write a lorebook in another program's form, and print the notes. Raises InputError."""
    found = _named(common, name)
    if found.path is None:
        whole = json.loads(found.text)
        entries = {str(entry["uid"]): entry for entry in whole["entries"]}
        text = json.dumps({**whole, "entries": entries})
    else:
        text = found.text
    exported = first_lore_form().export(text, found.place, found.name)
    for note in exported.notes:
        write_line(one_line(note), err=True)
    if path is None:
        write_line(exported.text.rstrip("\n"))
    else:
        write_bytes(exported.text.encode(), path, "shared", overwrite=False)


def _library(common: CommonOptions) -> Library:
    return open_library(common.config())


def _print_table(rows: Sequence[tuple[str, ...]], nothing: str, *narrowed: tuple[int, int]) -> None:
    if len(rows) > 1:
        write_line(output.table(rows, *narrowed))
    else:
        write_line(nothing, err=True)


# --- presets ---------------------------------------------------------------------------


def list_presets(common: CommonOptions, *, as_json: bool) -> None:
    """Print the presets. A file with errors is listed with its fault."""
    library = _library(common)
    found = [
        (name, path, library.is_ours(name), *_read(path))
        for name, path in library.files("presets").items()
    ]
    if as_json:
        write_json(
            [
                {
                    "name": name,
                    "path": str(path),
                    "bundled": bundled,
                    "messages": len(preset.messages) if preset else None,
                    "error": fault or None,
                }
                for name, path, bundled, preset, fault in found
            ]
        )
        return
    rows = [("NAME", "MESSAGES", "FROM")]
    for name, path, bundled, preset, fault in found:
        where = "bundled" if bundled else str(path)
        count = str(len(preset.messages)) if preset else f"error: {fault}"
        rows.append((one_line(name), one_line(count), one_line(where)))
    write_line(output.table(rows, (1, 10), (2, 20)))


def _read(path: Path) -> tuple[Preset | None, str]:
    try:
        return load_preset(path), ""
    except InputError as error:
        return None, str(error).removeprefix(str(path)).lstrip(": ")


def preset_path(common: CommonOptions, name: str) -> Path:
    """Return the path that a name or a path of a preset stands for. Raises InputError, which
    suggests the nearest, for a name that does not exist.
    """
    path = Path(name)
    if path == STANDARD_INPUT or path.exists():
        return path
    files = _library(common).files("presets")
    if name in files:
        return files[name]
    if path.suffix or path.name != name:
        return path  # reading it says what is wrong
    return files[find("preset", name, tuple(files))]


def show_preset(common: CommonOptions, name: str, *, as_json: bool) -> None:
    """Print a preset: its messages in their order, or its file. Raises InputError."""
    path = preset_path(common, name)
    if as_json:
        output.write_request(read_file_text(path).rstrip("\n"))
        return
    preset = load_preset(path)
    write_line(Styled(one_line(preset.name), bold=True), f"  {path}")
    for key, value in settings_json(preset.settings).items():
        write_line("  ", one_line(f"{key} = {value}"))
    for key, value in preset.variables.items():
        write_line("  ", one_line(f"{{{{{key}}}}} = {value}"))
    for number, message in enumerate(preset.messages, 1):
        off = "" if message.enabled else " (disabled)"
        write_line(f"{number:>3}  {message.role:<9}  ", one_line(_place(message), 200), off)
        for line in sanitize(message.content).splitlines():
            write_line(f"       {line}")


def _place(message: PresetMessage) -> str:
    """Return what a preset message is and where it goes, in a few words."""
    name = message.name or message.id
    if message.is_anchor:
        return f"{name}: the place of {message.type.replace('_', ' ')}"
    if message.insertion_point is not None:
        return f"{name}: at depth {message.insertion_point}"
    if message.anchor_target or message.anchor_point:
        target = message.anchor_target or "the history"
        return f"{name}: {message.anchor_point or 'after'} {target}"
    return name


def print_path(common: CommonOptions, name: str | None) -> None:
    """Print the path of a preset, or the folder of the user's presets. Raises InputError."""
    if name is None:
        write_line(str(common.config().config_dir / "presets"))
    else:
        files = _library(common).files("presets")
        write_line(str(files[find("preset", name, tuple(files))]))


# --- roles -----------------------------------------------------------------------------


def _roles(common: CommonOptions) -> tuple[Role, ...]:
    async def read() -> tuple[Role, ...]:
        async with command_workspace(common.config(), create=False) as (workspace, _):
            return workspace.state.roles

    return asyncio.run(read())


def list_roles(common: CommonOptions, *, as_json: bool) -> None:
    """Print the roles. Raises StoreError."""
    found = _roles(common)
    if as_json:
        write_json([_role_json(role) for role in found])
        return
    rows = [("NAME", "MODEL", "PRESET", "STATUS", "PROMPT")]
    for role in found:
        name, model, preset = (
            one_line(each) or "—" for each in (role.name, role.model, role.preset)
        )
        rows.append((name, model, preset, role.status, _excerpt(role.system_prompt)))
    _print_table(rows, "There are no roles.", (4, 20))


def show_role(common: CommonOptions, name: str, *, as_json: bool) -> None:
    """Print a role. Raises InputError for an unknown name, and StoreError."""
    role, picture = asyncio.run(_role_and_picture(common, name))
    if as_json:
        write_json(_role_json(role))
        return
    write_line(Styled(one_line(role.name), bold=True), f"  {role.role_id}")
    facts = {"model": role.model, "preset": role.preset, "status": role.status}
    for key, value in (facts | settings_json(role.settings)).items():
        if value != "":
            write_line("  ", one_line(f"{key} = {value}"))
    card = role.character
    if card is not None:
        facts = {"creator": card.creator, "version": card.version, "tags": ", ".join(card.tags)}
        for key, value in facts.items():
            if value:
                write_line("  ", one_line(f"{key} = {value}", 200))
    if picture:
        write_line("  ", f"picture = {len(picture):,} bytes; roles export writes it")
    if role.system_prompt:
        write_line("")
        write_line(role.system_prompt)
    if card is not None and card.creator_notes:
        write_line("")
        write_line(Styled("Creator's notes", bold=True))
        write_line(card.creator_notes)


def export_role(common: CommonOptions, name: str, path: Path | None) -> None:
    """Write a role as a character card: PNG if the file's name says so, else JSON; to the standard
    output without a file. Raises InputError and StoreError.
    """
    role, picture = asyncio.run(_role_and_picture(common, name))
    content = card_files().write(role, picture, path.suffix.lower() if path else ".json")
    if path is None:
        write_line(content.decode().rstrip("\n"))
    else:
        write_bytes(content, path, "shared", overwrite=False)


async def _role_and_picture(common: CommonOptions, name: str) -> tuple[Role, bytes]:
    async with command_workspace(common.config(), create=False) as (workspace, _):
        role = find_role(workspace.state.roles, name)
        store = workspace.store.roles
        return await store.get(role.role_id) or role, await store.picture(role.role_id)


def _role_json(role: Role) -> dict[str, Any]:
    return {
        "role_id": role.role_id,
        "name": role.name,
        "system_prompt": role.system_prompt,
        "model": role.model,
        "parameters": settings_json(role.settings),
        "preset": role.preset,
        "status": role.status,
    }


def _excerpt(text: str) -> str:
    return one_line(text, EXCERPT) or "—"


# --- profiles --------------------------------------------------------------------------


def list_profiles(common: CommonOptions, *, as_json: bool) -> None:
    """Print the profiles. A file with errors is listed with its fault."""
    library = _library(common)
    found: list[tuple[str, Path, str, str]] = []
    for name, path in library.files("profiles").items():
        try:
            profile = library.profile(name)
            found.append((name, path, profile.name, profile.content))
        except InputError as error:
            found.append((name, path, "", f"error: {str(error).removeprefix(f'{path}: ')}"))
    if as_json:
        write_json(
            [
                {"name": name, "path": str(path), "user": user, "content": content}
                for name, path, user, content in found
            ]
        )
        return
    rows = [("NAME", "USER", "CONTENT")]
    rows += [(one_line(name), one_line(user), _excerpt(text)) for name, _, user, text in found]
    folder = common.config().config_dir / "profiles"
    _print_table(rows, f"There are no profiles. They are JSON files in {folder}.", (2, 20))


def show_profile(common: CommonOptions, name: str, *, as_json: bool) -> None:
    """Print a profile, or its file. Raises InputError."""
    library = _library(common)
    files = library.files("profiles")
    found = find("profile", name, tuple(files))
    if as_json:
        output.write_request(read_text(files[found], max_bytes=MAX_BYTES).rstrip("\n"))
        return
    profile = library.profile(found)
    write_line(Styled(one_line(profile.name), bold=True), f"  {files[found]}")
    write_line(profile.content)
