"""`tui-chat lorebooks`: list, show and export lorebooks, those of files and of character cards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tui_chat.cli.app import open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, export
from tui_chat.cli.output import write_line
from tui_chat.cli.workspace import command_workspace
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.foreign_files import card_files, first_lore_form, has_card_files
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.sillytavern.lore.outcomes import describe_conditions, describe_place


@dataclass(frozen=True, slots=True)
class LorebookDocument:
    """A lorebook in a list; `entries` is their number."""

    name: str
    place: str
    entries: int | None
    error: str | None


class _Lorebooks(LibraryKind):
    noun = "lorebook"
    head = ("NAME", "ENTRIES", "FROM")
    narrowed = ((1, 10), (2, 20))

    @synchronous
    async def items(self, common: CommonOptions) -> list[Item]:
        """Return the lorebooks; one of a file goes before one of a card with the same name."""
        config = common.config()
        items = {
            name: _file_item(name, path)
            for name, path in open_library(config).files("lorebooks").items()
        }
        if has_card_files():
            async with command_workspace(config, create=False) as (workspace, _):
                for listed in workspace.state.roles:
                    role = await workspace.store.roles.get(listed.role_id)
                    character = role.character if role is not None else None
                    text = card_files().book_text(character.card) if character else ""
                    if text and character is not None and character.book is not None:
                        name, place = character.book.name, f"card of {listed.name}"
                        items.setdefault(name, _card_item(name, place, text))
        return list(items.values())

    def find(self, common: CommonOptions, name: str) -> Item:
        """Return the lorebook with a name, or at a path."""
        path = Path(name)
        if path.suffix.lower() == ".json":
            return _file_item(path.stem, path)
        return super().find(common, name)

    def row(self, item: Item) -> tuple[str, ...]:
        book, error = item.tried()
        entries = f"{len(book.entries):,}" if book is not None else f"error: {error}"
        return item.name, entries, item.place

    def document(self, item: Item) -> LorebookDocument:
        book, error = item.tried()
        count = len(book.entries) if book is not None else None
        return LorebookDocument(item.name, item.place, count, error or None)

    def describe(self, value: Lorebook) -> None:
        for number, entry in enumerate(value.entries, 1):
            off = "" if entry.enabled else " (disabled)"
            keys = "always" if entry.constant else ", ".join(entry.keys) or "no keys"
            name = one_line(entry.name or entry.id, 60)
            write_line(f"{number:>4}  {name}: {one_line(keys, 120)}  → {_entry_place(entry)}{off}")
            for condition in describe_conditions(entry):
                write_line(f"      · {one_line(condition)}")
            for line in sanitize(entry.content).splitlines():
                write_line(f"      {line}")

    def export(self, item: Item, output: Path | None, form: str) -> None:
        """Write a lorebook as world info; one that came from there is written unchanged."""
        exported = first_lore_form().export(item.text(), item.place, item.name)
        export(exported.text.encode(), output, exported.notes)


def _file_item(name: str, path: Path) -> Item:
    return Item(
        name,
        str(path),
        lambda: parse_lorebook(read_file_text(path), str(path), name),
        lambda: sanitize(read_file_text(path), "json"),
    )


def _card_item(name: str, place: str, text: str) -> Item:
    return Item(
        name, place, partial(parse_lorebook, text, place, name), lambda: sanitize(text, "json")
    )


def _entry_place(entry: LorebookEntry) -> str:
    """Return where an entry goes, its order if that is not the usual one, and its role."""
    order = f", order {entry.order}" if entry.order != LorebookEntry("").order else ""
    return f"{one_line(describe_place(entry), 80)}{order}, {entry.role}"


LOREBOOKS = _Lorebooks()
