"""`tui-chat library`: list, show, export and check presets, roles, profiles and what plugins add.

Each of these is a `LibraryKind`: it says where its items are, and what a list and a description
have. A plugin adds one as a part `library kind`. The names of the kinds are hidden commands:
`presets show NAME` is `library show presets NAME`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import click

from tui_chat import hooks
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.names import find
from tui_chat.cli.options import FILE, INPUT, PluginChoice, json_option
from tui_chat.cli.output import (
    Styled,
    counted,
    document_json,
    write_document,
    write_line,
    write_list,
    write_request,
)
from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize

KINDS = {
    "presets": "tui_chat.cli.library_kinds:PRESETS",
    "roles": "tui_chat.cli.library_kinds:ROLES",
    "profiles": "tui_chat.cli.library_kinds:PROFILES",
}
"""The kinds of the core."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_T = TypeVar("_T", bound=_Named)


@dataclass(frozen=True, slots=True)
class Item(Generic[_T]):
    """A preset, role, profile or lorebook, which may have errors."""

    name: str
    place: str
    """Its file, or what else has it."""
    read: Callable[[], _T]
    """Reads it. Raises InputError."""
    text: Callable[[], str]
    """Returns its file, or JSON in the form of one. Raises InputError."""
    is_bundled: bool = False
    """True for one that comes with the program."""


@dataclass(frozen=True, slots=True)
class Listed(Generic[_T]):
    """A line of a list."""

    item: Item[_T]
    value: _T | None
    """None if it cannot be read."""
    error: str = ""


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


class LibraryKind(ABC, Generic[_T]):
    """Presets, roles, profiles or lorebooks."""

    noun: str
    head: tuple[str, ...]
    """The head of the table that `list` prints."""
    narrowed: tuple[tuple[int, int], ...]
    """The columns that give way on a narrow terminal, with their least widths."""
    formats: ClassVar[tuple[str, ...]] = ()
    """The values of `export --format`; the first is the default."""

    @abstractmethod
    def items(self, common: CommonOptions) -> Sequence[Item[_T]]:
        """Return all items, in the order of the list. Raises InputError and StoreError."""

    @abstractmethod
    def row(self, listed: Listed[_T]) -> tuple[str, ...]:
        """Return the cells of an item in the table."""

    @abstractmethod
    def document(self, listed: Listed[_T]) -> Any:
        """Return an item of the list as a document."""

    @abstractmethod
    def describe(self, value: _T) -> None:
        """Print everything below the heading with the name."""

    def find(self, common: CommonOptions, name: str) -> Item[_T]:
        """Return the item with a name. Raises InputError, which suggests the nearest."""
        items = {item.name: item for item in self.items(common)}
        return items[find(self.noun, name, tuple(items))]

    def export(self, item: Item[_T], output: Path | None, form: str) -> None:
        """Write an item in a format, to a file or the standard output. Raises InputError."""
        export(item.text().encode(), output)

    def findings(self, item: Item[_T]) -> Iterator[FindingDocument]:
        """Yield what is wrong with an item, or doubtful."""
        if error := _listed(item).error:
            yield FindingDocument(item.place, 1, 1, "error", "unreadable", error, "")

    def add_file(self, common: CommonOptions, file: Path, name: str) -> Path:
        """Convert a file of another program; return the new file. Raises InputError."""
        raise InputError("Only presets are imported here.", advice="`tui-chat import` takes cards.")


def _listed(item: Item[_T]) -> Listed[_T]:
    try:
        return Listed(item, item.read())
    except InputError as error:
        return Listed(item, None, str(error).removeprefix(item.place).lstrip(": "))


def excerpt(text: str) -> str:
    """Return the beginning of a text for a list."""
    return one_line(text, 60) or "—"


def export(content: bytes, output: Path | None, notes: Iterable[str] = ()) -> None:
    """Write a file, or print it without an `output`; notes go to stderr. Raises InputError."""
    for note in notes:
        write_line(one_line(note), err=True)
    if output is None:
        write_request(sanitize(content.decode(), "json").rstrip("\n"))
    else:
        write_bytes(content, output, "shared", overwrite=False)


def kind_names() -> tuple[str, ...]:
    """Return the names of all kinds."""
    return (*KINDS, *(part.name for _, part in hooks.parts_at("library kind")))


def _kind(name: str) -> LibraryKind[Any]:
    if name in KINDS:
        return hooks.load(KINDS[name])
    parts = hooks.parts_at("library kind")
    return next(hooks.load_part(plugin, part.path) for plugin, part in parts if part.name == name)


def _complete_item(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    try:
        common = CommonOptions(**context.find_root().params)
        names = [item.name for item in _kind(context.params["kind"]).items(common)]
    except Exception:  # an error has no place in a command line
        return []
    return [name for name in names if name.casefold().startswith(typed.casefold())]


# Commands

_KIND = click.argument("kind", type=PluginChoice(kind_names))
_NAME = click.argument("name", metavar="NAME|FILE", shell_complete=_complete_item)


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
        [_listed(item) for item in of_kind.items(common)],
        as_json,
        lambda listed: document_json(of_kind.document(listed)),
        of_kind.head,
        of_kind.row,
        *of_kind.narrowed,
        nothing=f"There are no {kind}. They are JSON files in {folder}.",
    )


@library.command("show")
@_KIND
@_NAME
@json_option("Print the file.")
@click.pass_obj
def show(common: CommonOptions, kind: str, name: str, as_json: bool) -> None:
    """Print all of a preset, role, profile or lorebook. - is a preset on the standard input.

    \b
    Examples:
      tui-chat library show presets plain
      tui-chat library show roles Assistant --json > roles/assistant.json
    """
    item = _kind(kind).find(common, name)
    if as_json:
        write_request(item.text().rstrip("\n"))
        return
    value = item.read()
    write_line(Styled(one_line(value.name), bold=True), f"  {one_line(item.place)}")
    _kind(kind).describe(value)


@library.command("path")
@_KIND
@click.argument("name", required=False, shell_complete=_complete_item)
@click.pass_obj
def print_path(common: CommonOptions, kind: str, name: str | None) -> None:
    """Print the path of a file; without NAME the folder of your own.

    \b
    Example:
      $EDITOR "$(tui-chat library path presets mine)"
    """
    if name is None:
        write_line(str(common.config().config_dir / kind))
        return
    items = {item.name: item.place for item in _kind(kind).items(common)}
    write_line(items[find(kind.removesuffix("s"), name, tuple(items))])


@library.command("import")
@_KIND
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT)
@click.option("--name", default="", help="The name of the preset; default: the file's name.")
@click.pass_obj
def import_items(common: CommonOptions, kind: str, files: tuple[Path, ...], name: str) -> None:
    """Import presets of other programs.

    Chat completion presets are converted and written to the presets folder. Prints the path of each
    new preset. What could not be imported unchanged is reported on the standard error stream.

    \b
    Example:
      tui-chat library import presets "Marinara.json" --name marinara
    """
    if name and len(files) > 1:
        raise InputError("--name needs a single file.", advice="Omit --name.")
    for file in files:
        write_line(str(_kind(kind).add_file(common, file, name)))


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
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME|FILE...", shell_complete=_complete_item
)
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
        write_document(findings)
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


def _checked(kind: LibraryKind[Any], common: CommonOptions, name: str) -> Iterator[Item[Any]]:
    """Yield the item of a name; for a folder, those of the JSON files directly in it."""
    if Path(name).is_dir():
        for path in sorted(Path(name).glob("*.json")):
            yield kind.find(common, str(path))
    else:
        yield kind.find(common, name)
