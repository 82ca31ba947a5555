"""`tui-chat lorebooks`: list, show and export lorebooks."""

from __future__ import annotations

from pathlib import Path

from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, export
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.sanitize import sanitize
from tui_chat.plugins.sillytavern.world_info import export_lorebook_text


class _Lorebooks(LibraryKind):
    noun = "lorebook"

    def items(self, common: CommonOptions) -> list[Item]:
        """Return the lorebooks."""
        files = open_library(common.config()).files("lorebooks")
        return [_file_item(name, path) for name, path in files.items()]

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
        exported = export_lorebook_text(item.text(), item.place, item.name)
        export(exported.text.encode(), output, exported.notes)


def _file_item(name: str, path: Path) -> Item:
    return Item(
        name,
        str(path),
        lambda: parse_lorebook(read_file_text(path), str(path), name),
        lambda: sanitize(read_file_text(path), "json"),
    )


LOREBOOKS = _Lorebooks()
