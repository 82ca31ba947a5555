"""`tui-chat lorebooks`: list, show and export lorebooks, those of files and of character cards."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tui_chat.cli.app import open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, export
from tui_chat.cli.workspace import command_workspace
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.foreign_files import card_files, first_lore_form, has_card_files
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.sanitize import sanitize


class _Lorebooks(LibraryKind):
    noun = "lorebook"

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

    def about(self, value: Lorebook) -> str:
        return f"{len(value.entries):,} entries"

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


LOREBOOKS = _Lorebooks()
