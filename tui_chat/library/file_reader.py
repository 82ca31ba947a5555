"""Reading a JSON file: its known and unknown keys, its types, and findings with their places.

1. Keys are camelCase or snake_case; `KnownKeys` has both spellings of each field of a model. If
   an object has both spellings of a key, the first one counts, with a finding.
2. An unknown key is not an error. It is kept, with a finding: it may be misspelled, and nothing
   reads it.
3. null means that a key is absent.
4. `models.boundary` checks types. Its faults get the file's own keys and their places.
5. A character card is refused by name, whatever else is expected: cards are imported.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import count
from pathlib import Path as FilePath
from typing import Any, TypeVar

from tui_chat.errors import InputError, located
from tui_chat.files import MAX_BYTES, decode_text, input_name, read_file
from tui_chat.hooks import load_all
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.json_locations import LineIndex, Path, format_path, locate
from tui_chat.models.boundary import InvalidValue, ValueFault, camel_case, read, read_fields
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import (
    JsonError,
    as_array,
    decode_repaired,
    describe_value,
    object_or_none,
)
from tui_chat.models.settings import SETTINGS, SettingError, Settings, read_setting
from tui_chat.models.text import clean

T = TypeVar("T")

MAX_FINDINGS = 100
"""The maximum number of findings about one file."""

# fmt: off
FREE_KEYS = frozenset(
    (
        "author", "comment", "comments", "created", "description", "license", "note", "notes",
        "tags", "updated", "url", "version",
    )
)
# fmt: on
"""Keys that are for people: kept without a finding, like keys that begin with `_`, `$` or `x-`."""


_PERHAPS_CARD = re.compile(
    rb'"(?:chara_card_v|(?:char_persona|char_greeting|first_mes|mes_example|personality|scenario)")'
)
"""Keys that every character card in JSON has, and few other files."""
_CONTAINERS = (b"\x89PNG", b"PK\x03\x04")


def read_content(path: FilePath, limit: int) -> bytes:
    """Return the content of a file, or of the standard input for `-`, of at most `limit` bytes.
    Raises InputError, also for a character card.
    """
    content = read_file(path, limit)
    if is_character_card(content):
        raise card_error(path)
    return content


def is_character_card(content: bytes) -> bool:
    """Return True if the content of a file is a character card."""
    if content.startswith(_CONTAINERS) or _PERHAPS_CARD.search(content):
        return any(cards.holds(content) for cards in load_all("card reader"))
    return False


def card_error(path: FilePath) -> InputError:
    """Return the error for a character card where something else is expected."""
    advice = f"Import it: `tui-chat import {shlex.quote(str(path))}`."
    return InputError(f"{input_name(path)} is a character card.", advice=advice)


def read_file_text(path: FilePath, limit: int = MAX_BYTES) -> str:
    """Read a file as text, by default of the library. Raises InputError, also for a card."""
    return decode_text(read_content(path, limit), path)


def choose(table: Mapping[Any, T], value: object, default: T) -> T:
    """Return what a table has for a value of a file, which may be of any type."""
    return table.get(value, default) if isinstance(value, str | int) else default


def with_ids(
    items: Iterable[tuple[object, Mapping[str, Any]]],
    noun: str,
    defaults: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {},
) -> Iterator[object]:
    """Yield the fields of objects in a list with their unknown keys, their defaults, and an id: by
    default that of the place, such as `message-3` with the noun `message`. Other values are yielded
    as they are.
    """
    items = list(items)
    ids = [(object_or_none(value) or {}).get("id") for value, _ in items]
    used = {identity for identity in ids if isinstance(identity, str)}
    for number, (value, unknown) in enumerate(items, 1):
        if (fields := object_or_none(value)) is None:
            yield value
            continue
        whole = {**defaults(fields), **fields}
        identity = fields.get("id") or defaults(fields).get("id")
        if not identity:
            free = (f"{noun}-{n}" for n in count(number))
            identity = next(name for name in free if name not in used)
        if isinstance(identity, str):
            used.add(identity)
        yield {**whole, "id": identity, "extras": unknown}


class KnownKeys:
    """The keys that one kind of object may have."""

    def __init__(
        self,
        names: Iterable[str],
        also: Mapping[str, tuple[str, ...]] | None = None,
        meant: Mapping[str, str] | None = None,
    ):
        """`also` has other spellings that are read, `meant` what other words for a key mean."""
        self._meant = meant or {}
        self.field_of: dict[str, str] = {}
        """The field of each spelling; a field's preferred spelling comes first."""
        for name in names:
            for spelling in (camel_case(name), name, *(also or {}).get(name, ())):
                self.field_of.setdefault(spelling, name)

    def meant_by(self, key: str) -> str | None:
        """Return the known key that an unknown one means or resembles, in the same case style."""
        if meant := self._meant.get(_folded(key)):
            return meant
        folded: dict[str, str] = {}
        for spelling in self.field_of:
            if "_" in key or "_" not in spelling:
                folded[_folded(spelling)] = spelling
        close = get_close_matches(_folded(key), folded, n=1, cutoff=0.8)
        return folded[close[0]] if close else None


_SETTINGS = KnownKeys(SETTINGS)


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").casefold()


@dataclass(frozen=True, slots=True)
class Finding:
    """A note about a place in a file."""

    level: Level
    code: str
    """A stable identifier: `misspelled-key`, `unknown-anchor`, ..."""
    sentence: str
    """For a person."""
    path: str = "$"
    """The place as a JSON path: `$.presetMessages[0].role`."""
    line: int = 1
    """From 1."""
    column: int = 1
    """From 1, in characters."""


@dataclass(frozen=True, slots=True)
class _Report:
    level: Level
    code: str
    sentence: str
    path: Path
    at_key: bool


class JsonFile:
    """The text of a file or of a line of one, its value, and its findings. Raises nothing."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._first_line = first_line
        self.text = clean(text.removeprefix("\ufeff"))
        self.value: object = None
        self._broken: Finding | None = None
        self._reports: list[_Report] = []
        self._spelled: dict[tuple[Path, str], tuple[str, ...]] = {}
        try:
            self.value, has_surrogates = decode_repaired(self.text)
        except JsonError as fault:
            place = LineIndex(self.text, first_line).at(fault.offset)
            self._broken = Finding(Level.ERROR, "not-json", fault.sentence, "$", *place)
        else:
            if has_surrogates:
                sentence = "A lone surrogate escape was replaced by U+FFFD."
                self.report(Level.WARNING, "half-character", sentence, ())

    @property
    def failed(self) -> bool:
        """True if there is an error."""
        return self._broken is not None or any(t.level is Level.ERROR for t in self._reports)

    @property
    def is_list(self) -> bool:
        """True if the whole file is a list."""
        return isinstance(self.value, list)

    def report(
        self, level: Level, code: str, sentence: str, path: Path, *, at_key: bool = False
    ) -> None:
        """Add a finding about a place."""
        self._reports.append(_Report(level, code, sentence, path, at_key))

    def sort_keys(
        self, value: Mapping[str, Any], path: Path, keys: KnownKeys
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the known keys of an object, by our field names, and the unknown ones as they were
        spelled, with findings about doubtful ones.
        """
        fields: dict[str, Any] = {}
        extras: dict[str, Any] = {}
        for key, inner in value.items():
            name = keys.field_of.get(key)
            if name is None:
                extras[key] = inner
                self._report_unknown(key, path, keys)
            elif (path, name) in self._spelled:
                counts = self._spelled[path, name][0]
                sentence = f"“{key}” is the same as “{counts}”, which comes first and counts."
                self.report(Level.WARNING, "doubled-key", sentence, (*path, key), at_key=True)
            elif inner is not None:
                self._spelled[path, name] = (key,)
                fields[name] = inner
        return fields, extras

    def sort_each(
        self, values: object, path: Path, keys: KnownKeys
    ) -> Iterator[tuple[object, Mapping[str, Any]]]:
        """Yield the fields and the unknown keys of each object in a list; other values are left for
        `read`.
        """
        for index, value in enumerate(as_array(values)):
            item = object_or_none(value)
            yield (value, {}) if item is None else self.sort_keys(item, (*path, index), keys)

    def read_settings(self, value: object, path: Path) -> tuple[Settings, Mapping[str, Any]]:
        """Return an object's settings and its unknown keys. Refused values become findings."""
        table = object_or_none(value)
        if table is None:
            if value is not None:
                sentence = f"must be an object of settings, not {describe_value(value)}"
                self.report(Level.ERROR, "bad-value", sentence, path)
            return Settings(), {}
        fields, extras = self.sort_keys(table, path, _SETTINGS)
        values: dict[str, Any] = {}
        for name, inner in fields.items():
            try:
                values[name] = read_setting(name, inner)
            except SettingError as error:
                place = (*self.path_of(path, name), *error.path)
                self.report(Level.ERROR, "bad-value", str(error), place)
        return Settings(**values), extras

    def set_path(self, path: Path, name: str, *steps: str) -> None:
        """Set the path from an object to a field that is not at its own key."""
        self._spelled[path, name] = steps

    def path_of(self, path: Path, name: str) -> Path:
        """Return the path of a field of an object."""
        return (*path, *self._spelled.get((path, name), (name,)))

    def _report_unknown(self, key: str, path: Path, keys: KnownKeys) -> None:
        if key in FREE_KEYS or key.startswith(("_", "$", "x-")):
            return
        meant = keys.meant_by(key)
        if meant is not None:
            sentence = f"“{key}” is unknown; did you mean “{meant}”?"
            self.report(Level.WARNING, "misspelled-key", sentence, (*path, key), at_key=True)
        else:
            sentence = f"“{key}” is unknown; it is kept, but has no effect."
            self.report(Level.INFO, "unknown-key", sentence, (*path, key), at_key=True)

    def read(self, kind: type[T], value: object, path: Path = ()) -> T | None:
        """Return the value of a type at a path; None if it has faults, which become findings."""
        try:
            return read(kind, value)
        except InvalidValue as error:
            self._report_faults(error.faults, path)
            return None

    def read_fields(self, kind: type, value: object, path: Path = ()) -> dict[str, Any] | None:
        """Return an object's fields of a dataclass; None, with findings, if one has faults."""
        try:
            return read_fields(kind, value)
        except InvalidValue as error:
            self._report_faults(error.faults, path)
            return None

    def _report_faults(self, faults: Iterable[ValueFault], path: Path) -> None:
        for fault in faults:
            place = path
            for step in fault.path:
                place = (*place, step) if isinstance(step, int) else self.path_of(place, step)
            if fault.kind == "missing":
                missing = camel_case(str(fault.path[-1]))
                self.report(Level.ERROR, "missing-key", f"“{missing}” is missing", place[:-1])
            else:
                self.report(Level.ERROR, "bad-value", fault_sentence(fault), place)

    def errors(self) -> tuple[Finding, ...]:
        """Return the errors. Costs nothing if there are none."""
        if not self.failed:
            return ()
        return tuple(finding for finding in self.findings() if finding.level is Level.ERROR)

    def findings(self) -> tuple[Finding, ...]:
        """Return all findings, by line."""
        if self._broken is not None:
            return (self._broken,)
        worst_first = sorted(self._reports, key=lambda report: _RANK[report.level])
        reports = worst_first[:MAX_FINDINGS]
        wanted = {t.path[:length] for t in reports for length in range(len(t.path) + 1)}
        spots = locate(self.text, wanted)
        lines = LineIndex(self.text, self._first_line)
        findings: list[Finding] = []
        for t in reports:
            length = next(n for n in range(len(t.path), -1, -1) if t.path[:n] in spots)
            spot = spots[t.path[:length]]
            place = lines.at(spot.key if t.at_key else spot.start)
            findings.append(Finding(t.level, t.code, t.sentence, format_path(t.path), *place))
        return tuple(sorted(findings, key=lambda finding: (finding.line, finding.column)))

    def doubts(self, source: str) -> tuple[str, ...]:
        """Return a sentence with its place for each unknown key that means or resembles a known
        one: it has no effect, and the user believes that it has.
        """
        if not self._reports:
            return ()
        return tuple(
            f"{source}: {located(f'{each.path} (line {each.line})', each.sentence)}"
            for each in self.findings()
            if each.code == "misspelled-key"
        )

    def raise_errors(self, source: str) -> None:
        """Raise the first error as an InputError with file and place, if there is one."""
        if not (errors := self.errors()):
            return
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        place = f"line {first.line}, column {first.column}"
        if first.code == "not-json":
            raise InputError(f"{source}: {place}: {first.sentence}")
        place = f"{first.path} ({place})"
        raise InputError(f"{source}: {located(place, first.sentence)}{more}")


_RANK = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


def fault_sentence(fault: ValueFault) -> str:
    """Return a fault as the end of a sentence, with the value that is not accepted."""
    return f"{fault.sentence}, not {describe_value(fault.value)}"
