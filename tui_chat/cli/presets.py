"""Presets in `tui-chat library`, which also are `tui-chat presets`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from tui_chat import hooks
from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.library import Item, LibraryKind, Listed, export
from tui_chat.cli.output import write_line
from tui_chat.errors import InputError
from tui_chat.files import STANDARD_INPUT
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import Finding, read_file_text
from tui_chat.library.foreign_files import first_preset_files, import_preset_file
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset, load_preset
from tui_chat.models.envelope import Level
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage, depth_words
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_types import settings_json


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
            _item(name, path, is_bundled=library.is_ours(name))
            for name, path in library.files("presets").items()
        ]

    def find(self, common: CommonOptions, name: str) -> Item[Preset]:
        """Return the preset with a name, or at a path, which need not exist."""
        path = Path(name)
        if path == STANDARD_INPUT or path.exists():
            return _item(path.stem, path)
        is_path = path.suffix or path.name != name
        if is_path and name not in open_library(common.config()).files("presets"):
            return _item(path.stem, path)  # reading it says what is wrong
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
        for key, setting in settings_json(value.settings).items():
            write_line("  ", one_line(f"{key} = {setting}"))
        for key, variable in value.variables.items():
            write_line("  ", one_line(f"{{{{{key}}}}} = {variable}"))
        names = {each.anchor_id: each.name for each in value.messages if each.is_anchor}
        names[CHAT_HISTORY] = "the history"
        for number, message in enumerate(value.messages, 1):
            off = "" if message.enabled else " (disabled)"
            write_line(
                f"{number:>3}  {message.role:<9}  ", one_line(_place(message, names), 200), off
            )
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

    def findings(self, item: Item[Preset]) -> Iterator[tuple[int, int, str, str, str, str]]:
        """Yield the errors, warnings and hints of a preset or lorebook."""
        for each in _findings(Path(item.place)):
            level = each.level.value
            yield each.line, each.column, level, each.code, each.sentence, each.path

    def add_file(self, common: CommonOptions, file: Path, name: str) -> Path:
        """Convert a preset of another program; what changed goes to stderr."""
        own = open_library(common.config())
        imported = import_preset_file(file, name)
        for note in imported.notes:
            write_line(f"{note.level}: {one_line(note.sentence)}", err=True)
        return own.preset_file(own.add_preset(imported.preset))


def _findings(path: Path) -> Iterator[Finding]:
    try:
        text = read_file_text(path)
    except InputError as error:
        sentence = f"{error} {error.advice}".removeprefix(str(path)).strip(": ")
        yield Finding(Level.ERROR, "unreadable", sentence)
    else:
        yield from check_preset(text, path.stem)


def _item(name: str, path: Path, *, is_bundled: bool = False) -> Item[Preset]:
    return Item(
        name, str(path), partial(load_preset, path), partial(read_file_text, path), is_bundled
    )


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
        called = names.get(target) or target
        return f"{name}: {message.anchor_point or 'after'} {called}"
    return name


PRESETS = _Presets()
