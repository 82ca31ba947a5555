"""`tui-chat lorebooks`: the lorebooks of files and of character cards, printed and exported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.cli import output
from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.cli.workspace import command_workspace, find
from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.character_cards import CardFile
from tui_chat.library.character_roles import book_text
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.sillytavern_lore_export import export_lorebook_text
from tui_chat.models.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from tui_chat.models.lorebook import Lorebook, LorebookEntry
    from tui_chat.models.role import Role


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
    for role in asyncio.run(roles()):
        text = book_text(CardFile(role.character.card)) if role.character is not None else ""
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
    """Print a lorebook: its entries with their keys, or its file. Raises InputError."""
    found = _named(common, name)
    if as_json:
        output.write_request(sanitize(found.text.rstrip("\n"), "json"))
        return
    book = found.book
    write_line(Styled(one_line(book.name), bold=True), f"  {one_line(found.place)}")
    for number, entry in enumerate(book.entries, 1):
        off = "" if entry.enabled else " (disabled)"
        write_line(f"{number:>4}  {one_line(entry.name or entry.id, 60)}: ", _keys(entry), off)
        for line in sanitize(entry.content).splitlines():
            write_line(f"      {line}")


def _keys(entry: LorebookEntry) -> str:
    """Return what activates an entry, and where it goes, in a few words."""
    keys = "always" if entry.constant else one_line(", ".join(entry.keys), 120) or "no keys"
    place = entry.position.replace("_", " ")
    if entry.insertion_point is not None:
        place = f"depth {entry.insertion_point}"
    return f"{keys}  → {place}" if place else keys


def run_lorebook_export(common: CommonOptions, name: str, path: Path | None) -> None:
    """Write a lorebook as SillyTavern's world info, and print the notes. Raises InputError."""
    found = _named(common, name)
    if found.path is None:
        whole = json.loads(found.text)
        entries = {str(entry["uid"]): entry for entry in whole["entries"]}
        text = json.dumps({**whole, "entries": entries})
    else:
        text = found.text
    exported = export_lorebook_text(text, found.place, found.name)
    for note in exported.notes:
        write_line(one_line(note), err=True)
    if path is None:
        write_line(exported.text.rstrip("\n"))
    else:
        write_bytes(exported.text.encode(), path, overwrite=False)
