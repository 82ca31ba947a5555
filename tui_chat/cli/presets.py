"""`tui-chat presets`: list, show, check, import and export presets."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from tui_chat import hooks
from tui_chat.cli import completion
from tui_chat.cli.app import open_library
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.library import Item, LibraryKind, Listed, export
from tui_chat.cli.names import find
from tui_chat.cli.options import FILE, INPUT, json_option
from tui_chat.cli.output import Styled, counted, write_json, write_line
from tui_chat.errors import InputError
from tui_chat.files import STANDARD_INPUT
from tui_chat.library.file_reader import Finding, read_file_text
from tui_chat.library.foreign_files import first_preset_files, import_preset_file
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset, load_preset
from tui_chat.models.envelope import Level
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage, depth_words
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_types import settings_json


class _Presets(LibraryKind[Preset]):
    noun = "preset"
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

    def json(self, listed: Listed[Preset]) -> dict[str, Any]:
        preset, item = listed.value, listed.item
        return {
            "name": item.name,
            "path": item.place,
            "bundled": item.is_bundled,
            "messages": _messages_of(preset) if preset else None,
            "error": listed.error or None,
        }

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


_PRESETS = _Presets()


@click.group(cls=LazyGroup, place=("presets",))
def presets() -> None:
    """List, show, check and test presets, and import others. `preset` is the same."""


@presets.command("list")
@json_option()
@click.pass_obj
def list_presets(common: CommonOptions, as_json: bool) -> None:
    """List the presets: your own, and those that come with the program.

    \b
    Example:
      tui-chat presets list --json
    """
    _PRESETS.list(common, as_json=as_json)


_NAME_OR_FILE = click.argument(
    "preset", metavar="NAME|FILE", shell_complete=completion.complete_preset_or_file
)


@presets.command("show")
@_NAME_OR_FILE
@json_option("Print the file.")
@click.pass_obj
def show_preset(common: CommonOptions, preset: str, as_json: bool) -> None:
    """Print the messages of a preset and where each goes. - is the standard input.

    \b
    Examples:
      tui-chat presets show plain
      tui-chat presets show plain --json > mine.json
    """
    _PRESETS.show(common, preset, as_json=as_json)


@presets.command("path")
@click.argument("preset", required=False, metavar="NAME", shell_complete=completion.complete_preset)
@click.pass_obj
def print_path(common: CommonOptions, preset: str | None) -> None:
    """Print the path of a preset; without NAME the folder of your own.

    \b
    Example:
      $EDITOR "$(tui-chat presets path mine)"
    """
    if preset is None:
        write_line(str(common.config().config_dir / "presets"))
    else:
        files = open_library(common.config()).files("presets")
        write_line(str(files[find("preset", preset, tuple(files))]))


@presets.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT)
@click.option("--name", default="", help="The name of the preset; default: the file's name.")
@click.pass_obj
def import_presets(common: CommonOptions, files: tuple[Path, ...], name: str) -> None:
    """Import presets of other programs.

    Chat completion presets are converted and written to the presets folder. Prints the path of each
    new preset. What could not be imported unchanged is reported on the standard error stream.

    \b
    Example:
      tui-chat presets import "Marinara.json" --name marinara
    """
    if name and len(files) > 1:
        raise InputError("--name needs a single file.", advice="Omit --name.")
    own = open_library(common.config())
    for file in files:
        imported = import_preset_file(file, name)
        preset_name = own.add_preset(imported.preset)
        write_line(str(own.preset_file(preset_name)))
        for note in imported.notes:
            write_line(f"{note.level}: {one_line(note.sentence)}", err=True)


_EXPORT_FORMATS = (
    *(plugin.name for plugin, _ in hooks.parts_at("preset reader")),
    "tui-chat",
)


@presets.command("export")
@_NAME_OR_FILE
@click.option("--output", "-o", type=FILE, help="A file; default: print it.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(_EXPORT_FORMATS),
    default=_EXPORT_FORMATS[0],
    show_default=True,
)
@click.pass_obj
def export_preset(common: CommonOptions, preset: str, output: Path | None, kind: str) -> None:
    """Write a preset in another program's format, or in our own.

    An imported preset keeps what its file had: without edits the export is equal to the file, with
    edits it has exactly those. What the format cannot express is named on the standard error
    stream.

    \b
    Example:
      tui-chat presets export roleplay --output roleplay.json
    """
    value = _PRESETS.find(common, preset).read()
    if kind == "tui-chat":
        export(sanitize(dump_preset(value), "json").encode(), output)
    else:
        exported = first_preset_files().write(value)
        export(exported.text.encode(), output, exported.notes)


# --- check -----------------------------------------------------------------------------


@presets.command("check")
@click.argument(
    "names",
    nargs=-1,
    required=True,
    metavar="NAME|FILE...",
    shell_complete=completion.complete_preset_or_file,
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@json_option()
@click.pass_obj
def check(common: CommonOptions, names: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Check presets and lorebooks.

    Prints errors and warnings with path and line. For a folder, check the JSON files directly in
    it; - is the standard input. Exits with 1 if there are errors.

    \b
    Examples:
      tui-chat presets check mine
      tui-chat presets check presets/ lorebooks/town.json --json
    """
    files = list(_checked_files([Path(_PRESETS.find(common, name).place) for name in names]))
    findings = [(path, finding) for path in files for finding in _findings(path)]
    if as_json:
        body = [
            {
                "path": str(path),
                "line": finding.line,
                "column": finding.column,
                "level": finding.level.value,
                "code": finding.code,
                "sentence": finding.sentence,
                "place": finding.path,
            }
            for path, finding in findings
        ]
        write_json(body)
    else:
        for path, finding in findings:
            level = Styled(finding.level.value, _COLORS[finding.level])
            place = f"{finding.path}: " if finding.code == "bad-value" else ""
            sentence = (place + finding.sentence).replace("\n", "\\n")
            write_line(f"{path}:{finding.line}: ", level, f" {finding.code} {sentence}")
        _summarize(Counter(finding.level for _, finding in findings), len(files))
    if any(finding.code == _UNREADABLE for _, finding in findings):
        sys.exit(2)
    failing = (Level.ERROR, Level.WARNING) if strict else (Level.ERROR,)
    if any(finding.level in failing for _, finding in findings):
        sys.exit(1)


_UNREADABLE = "unreadable"
_COLORS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "blue"}


def _checked_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files to check; for a folder, the JSON files directly in it."""
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def _findings(path: Path) -> Iterator[Finding]:
    try:
        text = read_file_text(path)
    except InputError as error:
        sentence = f"{error} {error.advice}".removeprefix(str(path)).strip(": ")
        yield Finding(Level.ERROR, _UNREADABLE, sentence)
        return
    yield from check_preset(text, path.stem)


def _summarize(levels: Counter[Level], files: int) -> None:
    nouns = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "hint"}
    counts = [counted(levels[level], noun) for level, noun in nouns.items() if levels[level]]
    write_line(f"{counted(files, 'file')} checked: {', '.join(counts) or 'no findings'}.", err=True)
