"""`tui-chat library`: list, show, export and check presets, roles, profiles and what plugins add.

Each of these is a `LibraryKind`: it says where its items are, and what a list says of one. A plugin
adds one as a part `library kind`. The names of the kinds are hidden commands: `presets show NAME`
is `library show presets NAME`.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import click

from tui_chat import hooks
from tui_chat.cli.app import open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.names import find, find_role
from tui_chat.cli.options import FILE, PluginChoice, json_option
from tui_chat.cli.output import (
    Styled,
    counted,
    write_json,
    write_line,
    write_list,
    write_request,
)
from tui_chat.cli.workspace import command_workspace
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, STANDARD_INPUT, read_text, write_bytes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import read_file_text
from tui_chat.library.foreign_files import card_files, first_preset_files
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import dump_preset, load_preset
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.settings import settings_json


@dataclass(frozen=True, slots=True)
class Item:
    """A preset, role, profile or lorebook, which may have errors."""

    name: str
    place: str
    """Its file, or what else has it."""
    read: Callable[[], Any]
    """Reads it. Raises InputError."""
    text: Callable[[], str]
    """Returns its file, or JSON in the form of one. Raises InputError."""
    is_bundled: bool = False
    """True for one that comes with the program."""
    description: str = ""
    """The beginning of the description in a role's character card."""
    picture: bytes = b""
    """The picture of a role's character card."""

    def tried(self) -> tuple[Any, str]:
        """Return its value, or None, and why it cannot be read."""
        try:
            return self.read(), ""
        except InputError as error:
            return None, str(error).removeprefix(self.place).lstrip(": ")


@dataclass(frozen=True, slots=True)
class ItemDocument:
    """A preset, role, profile or lorebook in a list; `about` is a line on it."""

    name: str
    path: str
    bundled: bool
    about: str
    error: str | None


@dataclass(frozen=True, slots=True)
class FindingDocument:
    """A finding of `check` in a file; `place` is a path of keys."""

    path: str
    line: int
    column: int
    level: str
    code: str
    sentence: str
    place: str


class LibraryKind(ABC):
    """Presets, roles, profiles or lorebooks."""

    noun: str
    formats: ClassVar[tuple[str, ...]] = ()
    """The values of `export --format`; the first is the default."""

    @abstractmethod
    def items(self, common: CommonOptions) -> Sequence[Item]:
        """Return all items, in the order of the list. Raises InputError and StoreError."""

    @abstractmethod
    def about(self, value: Any) -> str:
        """Return a line on a value for the list."""

    def document(self, item: Item) -> ItemDocument:
        """Return an item of the list as a document."""
        value, error = item.tried()
        words = () if error else (self.about(value), item.description)
        about = one_line(" · ".join(filter(None, words)), 200)
        return ItemDocument(item.name, item.place, item.is_bundled, about, error or None)

    def find(self, common: CommonOptions, name: str) -> Item:
        """Return the item with a name. Raises InputError, which suggests the nearest."""
        items = {item.name: item for item in self.items(common)}
        return items[find(self.noun, name, tuple(items))]

    def export(self, item: Item, output: Path | None, form: str) -> None:
        """Write an item in a format, to a file or the standard output. Raises InputError."""
        export(item.text().encode(), output)

    def findings(self, item: Item) -> Iterator[FindingDocument]:
        """Yield what is wrong with an item, or doubtful."""
        if error := item.tried()[1]:
            yield FindingDocument(item.place, 1, 1, "error", "unreadable", error, "")


def export(content: bytes, output: Path | None, notes: Iterable[str] = ()) -> None:
    """Write a file, or print it without an `output`; notes go to stderr. Raises InputError."""
    for note in notes:
        write_line(one_line(note), err=True)
    if output is None:
        write_request(sanitize(content.decode(), "json").rstrip("\n"))
    else:
        write_bytes(content, output, "shared", overwrite=False)


# Presets


class _Presets(LibraryKind):
    noun = "preset"
    formats = (*(plugin.name for plugin, _ in hooks.parts_at("preset reader")), "tui-chat")

    def items(self, common: CommonOptions) -> list[Item]:
        library = open_library(common.config())
        return [
            _preset(name, path, is_bundled=library.is_ours(name))
            for name, path in library.files("presets").items()
        ]

    def find(self, common: CommonOptions, name: str) -> Item:
        """Return the preset with a name, or at a path, which need not exist."""
        path = Path(name)
        if path == STANDARD_INPUT or path.exists():
            return _preset(path.stem, path)
        is_path = path.suffix or path.name != name
        if is_path and name not in open_library(common.config()).files("presets"):
            return _preset(path.stem, path)  # reading it says what is wrong
        return super().find(common, name)

    def about(self, value: Preset) -> str:
        return counted(sum(not message.is_anchor for message in value.messages), "message")

    def export(self, item: Item, output: Path | None, form: str) -> None:
        """Write a preset; an imported one keeps what its file had."""
        value = item.read()
        if form == "tui-chat":
            export(sanitize(dump_preset(value), "json").encode(), output)
        else:
            exported = first_preset_files().write(value)
            export(exported.text.encode(), output, exported.notes)

    def findings(self, item: Item) -> Iterator[FindingDocument]:
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


def _preset(name: str, path: Path, *, is_bundled: bool = False) -> Item:
    text = partial(read_file_text, path)
    return Item(name, str(path), partial(load_preset, path), text, is_bundled)


def _role_item(role: Role, description: str = "", picture: bytes = b"") -> Item:
    def text() -> str:
        return sanitize(json.dumps(_role_json(role), indent=2, ensure_ascii=False), "json")

    return Item(
        role.name, role.role_id, lambda: role, text, description=description, picture=picture
    )


def _role_json(role: Role) -> dict[str, Any]:
    """Return a role in the form of a role file."""
    return {
        "role_id": role.role_id,
        "name": role.name,
        "system_prompt": role.system_prompt,
        "model": role.model,
        "parameters": settings_json(role.settings),
        "preset": role.preset,
        "status": role.status,
    }


class _Roles(LibraryKind):
    noun = "role"

    @synchronous
    async def items(self, common: CommonOptions) -> list[Item]:
        async with command_workspace(common.config(), create=False) as (workspace, _):
            described = await workspace.store.roles.descriptions()
            roles = workspace.state.roles
        return [_role_item(role, described.get(role.role_id, "")) for role in roles]

    @synchronous
    async def find(self, common: CommonOptions, name: str) -> Item:
        """Return the role with this name or id, with its character card."""
        async with command_workspace(common.config(), create=False) as (workspace, _):
            role = find_role(workspace.state.roles, name)
            whole = await workspace.store.roles.get(role.role_id) or role
            return _role_item(whole, picture=await workspace.store.roles.picture(role.role_id))

    def about(self, value: Role) -> str:
        preset = value.preset and f"preset {value.preset}"
        return " · ".join(filter(None, (value.status, value.model, preset, value.system_prompt)))

    def export(self, item: Item, output: Path | None, form: str) -> None:
        """Write a role as a character card, with all that its file had."""
        ending = output.suffix.lower() if output else ".json"
        export(card_files().write(item.read(), item.picture, ending), output)


class _Profiles(LibraryKind):
    noun = "profile"

    def items(self, common: CommonOptions) -> list[Item]:
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

    def about(self, value: Profile) -> str:
        return f"{value.name}: {value.content}"


KINDS: Mapping[str, LibraryKind] = {
    "presets": _Presets(),
    "roles": _Roles(),
    "profiles": _Profiles(),
}
"""The kinds of the core."""


def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds."""
    return (*KINDS, *(part.name for _, part in hooks.parts_at("library kind")))


def _kind(name: str) -> LibraryKind:
    if name in KINDS:
        return KINDS[name]
    parts = hooks.parts_at("library kind")
    return next(hooks.load_part(plugin, part.path) for plugin, part in parts if part.name == name)


# Commands

_KIND = click.argument("kind", type=PluginChoice(kind_names))
_NAME = click.argument("name", metavar="NAME|FILE")


@click.group("library", cls=LazyGroup, place=("library", "presets"))
def library() -> None:
    """List, show, export and check presets, roles, profiles, lorebooks.

    `tui-chat presets list` is the same as `tui-chat library list presets`, and so on.
    """


@library.command("list")
@_KIND
@json_option()
@click.pass_obj
def list_items(common: CommonOptions, kind: str, as_json: bool) -> None:
    """List what there is of a kind: your own, and what comes with the program.

    A file with errors is listed with its fault. Roles that were used last are first.

    \b
    Example:
      tui-chat library list presets --json
    """
    of_kind = _kind(kind)
    folder = common.config_folder / kind
    write_list(
        of_kind.items(common),
        as_json,
        of_kind.document,
        ("NAME", "FROM", "ABOUT"),
        lambda item: _cells(of_kind.document(item)),
        (2, 30),
        (1, 20),
        nothing=f"There are no {kind}. They are JSON files in {folder}.",
    )


def _cells(document: ItemDocument) -> tuple[str, ...]:
    about = document.about if document.error is None else f"error: {document.error}"
    return document.name, "bundled" if document.bundled else document.path, about or "—"


@library.command("show")
@_KIND
@_NAME
@click.option("--json", "_", is_flag=True, hidden=True, expose_value=False)
@click.pass_obj
def show(common: CommonOptions, kind: str, name: str) -> None:
    """Print the file of a preset, role, profile or lorebook.

    - is a preset on the standard input.

    \b
    Examples:
      tui-chat library show presets plain
      tui-chat library show roles Assistant > roles/assistant.json
    """
    write_request(_kind(kind).find(common, name).text().rstrip("\n"))


@library.command("export")
@_KIND
@_NAME
@click.option(
    "--output", "-o", type=FILE, help="A file; default: print it. Of a role .png or .json."
)
@click.option("--format", "form", default="", help="Of a preset: tui-chat for our own form.")
@click.pass_obj
def export_item(
    common: CommonOptions, kind: str, name: str, output: Path | None, form: str
) -> None:
    """Write a preset, card or lorebook in another program's format, or in our own.

    What was imported is written as its file was; edits are in it, and nothing else differs. What
    the format cannot express is named on the standard error stream. A role is written as a
    character card, as PNG only if it came with a picture.

    \b
    Examples:
      tui-chat library export presets roleplay --output roleplay.json
      tui-chat library export roles Assistant --output assistant.json
    """
    of_kind = _kind(kind)
    if form and form not in of_kind.formats:
        accepted = f"Formats are {', '.join(of_kind.formats)}." if of_kind.formats else "Omit it."
        raise InputError(f"--format: {kind} are not written as “{form}”.", advice=accepted)
    of_kind.export(of_kind.find(common, name), output, form or next(iter(of_kind.formats), ""))


@library.command("check")
@_KIND
@click.argument("names", nargs=-1, required=True, metavar="NAME|FILE...")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@json_option()
@click.pass_obj
def check(
    common: CommonOptions, kind: str, names: tuple[str, ...], strict: bool, as_json: bool
) -> None:
    """Check files of presets and lorebooks, or that others can be read.

    Prints errors and warnings with path and line. For a folder, check the JSON files directly in
    it; - is the standard input. Exits with 1 if there are errors.

    \b
    Examples:
      tui-chat library check presets mine
      tui-chat library check presets presets/ lorebooks/town.json --json
    """
    of_kind = _kind(kind)
    items = [item for name in names for item in _checked(of_kind, common, name)]
    findings = [finding for item in items for finding in of_kind.findings(item)]
    if as_json:
        write_json(findings)
    else:
        for each in findings:
            place = f"{each.place}: " if each.code == "bad-value" else ""
            sentence = (place + each.sentence).replace("\n", "\\n")
            level = Styled(each.level, _COLORS[each.level])
            write_line(f"{each.path}:{each.line}: ", level, f" {each.code} {sentence}")
        counts = Counter(each.level for each in findings)
        nouns = {"error": "error", "warning": "warning", "info": "hint"}
        said = [counted(counts[level], noun) for level, noun in nouns.items() if counts[level]]
        files = counted(len(items), "file")
        write_line(f"{files} checked: {', '.join(said) or 'no findings'}.", err=True)
    failing = ("error", "warning") if strict else ("error",)
    if any(each.code == "unreadable" for each in findings):
        sys.exit(2)
    if any(each.level in failing for each in findings):
        sys.exit(1)


_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}


def _checked(kind: LibraryKind, common: CommonOptions, name: str) -> Iterator[Item]:
    """Yield the item of a name; for a folder, those of the JSON files directly in it."""
    if Path(name).is_dir():
        for path in sorted(Path(name).glob("*.json")):
            yield kind.find(common, str(path))
    else:
        yield kind.find(common, name)
