"""One file on its way from JSON to values: the keys it may have, its faults, their places.

1. Keys are camelCase or snake_case; `Keys` knows both spellings of each field of a model.
   Where an object has both spellings of one key, the first one counts, and a finding says so.
2. An unknown key is no fault. It is handed back, to be kept; where it looks like a misspelling
   of a known one, or where nothing would ever read it, a finding says so.
3. null means that a key was left out.
4. Pydantic checks types. Its complaints are said in our words, at the file's own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tui_chat.errors import InputError
from tui_chat.library.located_json import JsonError, LineIndex, Path, format_path, locate, parse
from tui_chat.models.envelope import Level
from tui_chat.models.text import clean

M = TypeVar("M", bound=BaseModel)

MAX_FINDINGS = 100
"""Of one file. Who mends a hundred asks again."""

# fmt: off
FREE_KEYS = frozenset(
    (
        "author", "comment", "comments", "created", "description", "license", "note", "notes",
        "tags", "updated", "url", "version",
    )
)
# fmt: on
"""Keys that are for people: kept, and no finding. So is what begins with `_`, `$` or `x-`."""


class FileModel(BaseModel):
    """What a file holds, under our own field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def to_camel_case(name: str) -> str:
    """Return the camelCase spelling of a field: `anchor_target` is `anchorTarget`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class KnownKeys:
    """The keys that one kind of object may have."""

    def __init__(self, model: type[BaseModel], also: Mapping[str, tuple[str, ...]] | None = None):
        self.field_of: dict[str, str] = {}
        """Each spelling, and the field it means; a field's best spelling first."""
        for name in model.model_fields:
            for spelling in (to_camel_case(name), name, *(also or {}).get(name, ())):
                self.field_of.setdefault(spelling, name)

    def meant_by(self, key: str) -> str | None:
        """Return the known key that an unknown one looks like, in its own style of spelling."""
        folded: dict[str, str] = {}
        for spelling in self.field_of:
            if "_" in key or "_" not in spelling:
                folded[_folded(spelling)] = spelling
        close = get_close_matches(_folded(key), folded, n=1, cutoff=0.8)
        return folded[close[0]] if close else None


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").casefold()


@dataclass(frozen=True, slots=True)
class Finding:
    """A note about a place in a file."""

    level: Level
    code: str
    """Stable and greppable: `misspelled-key`, `unknown-anchor`, ..."""
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


@dataclass(slots=True)
class SortedKeys:
    """An object whose keys were sorted."""

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    """By the names of our fields."""
    extras: dict[str, Any] = field(default_factory=dict[str, Any])
    """What we do not know, as it was spelled."""


class JsonFile:
    """A file's text, what it says, and what there is to say about it. Raises nothing."""

    def __init__(self, text: str) -> None:
        self.text = clean(text.removeprefix("\ufeff"))
        self.value: object = None
        self._broken: Finding | None = None
        self._told: list[_Report] = []
        self._spelled: dict[tuple[Path, str], tuple[str, ...]] = {}
        try:
            self.value, mended = parse(self.text)
        except JsonError as fault:
            place = LineIndex(self.text).at(fault.offset)
            self._broken = Finding(Level.ERROR, "not-json", fault.sentence, "$", *place)
        else:
            if mended:
                sentence = "An escape stands for half a character; it was replaced by U+FFFD."
                self.report(Level.WARNING, "half-character", sentence, ())

    @property
    def failed(self) -> bool:
        """Whether an error was found."""
        return self._broken is not None or any(t.level is Level.ERROR for t in self._told)

    @property
    def is_list(self) -> bool:
        """Whether the whole file is a list."""
        return isinstance(self.value, list)

    def report(
        self, level: Level, code: str, sentence: str, path: Path, *, at_key: bool = False
    ) -> None:
        """Say something about a place."""
        self._told.append(_Report(level, code, sentence, path, at_key))

    def sort_keys(self, value: Mapping[str, Any], path: Path, keys: KnownKeys) -> SortedKeys:
        """Sort the keys of an object, and tell what is doubtful about them."""
        taken = SortedKeys()
        for key, inner in value.items():
            name = keys.field_of.get(key)
            if name is None:
                taken.extras[key] = inner
                self._doubt(key, path, keys)
            elif (path, name) in self._spelled:
                counts = self._spelled[path, name][0]
                sentence = f"“{key}” is “{counts}” once more; “{counts}” counts."
                self.report(Level.WARNING, "doubled-key", sentence, (*path, key), at_key=True)
            elif inner is not None:
                self._spelled[path, name] = (key,)
                taken.fields[name] = inner
        return taken

    def sort_each(
        self, values: object, path: Path, keys: KnownKeys
    ) -> tuple[list[object], list[Mapping[str, Any]]]:
        """Sort the keys of each object in a list; what is no object is left for `checked`.

        Returns the fields of each, and the unknown keys of each.
        """
        fields: list[object] = []
        extras: list[Mapping[str, Any]] = []
        for index, value in enumerate(as_list(values)):
            found = as_object(value)
            taken = SortedKeys() if found is None else self.sort_keys(found, (*path, index), keys)
            fields.append(value if found is None else taken.fields)
            extras.append(taken.extras)
        return fields, extras

    def set_path(self, path: Path, name: str, *steps: str) -> None:
        """Say how to get from an object to a field that stands elsewhere than at its key."""
        self._spelled[path, name] = steps

    def path_of(self, path: Path, name: str) -> Path:
        """Return where a field of an object stands in the file."""
        return (*path, *self._spelled.get((path, name), (name,)))

    def _doubt(self, key: str, path: Path, keys: KnownKeys) -> None:
        if key in FREE_KEYS or key.startswith(("_", "$", "x-")):
            return
        meant = keys.meant_by(key)
        if meant is not None:
            sentence = f"“{key}” is not a key: did you mean “{meant}”?"
            self.report(Level.WARNING, "misspelled-key", sentence, (*path, key), at_key=True)
        else:
            sentence = f"“{key}” is kept, but nothing reads it."
            self.report(Level.INFO, "unknown-key", sentence, (*path, key), at_key=True)

    def validate(self, model: type[M], fields: object) -> M | None:
        """Check types. Returns None where something is wrong, and tells all of it."""
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                path = self._path(fault["loc"])
                if fault["type"] == "missing":
                    missing = to_camel_case(str(fault["loc"][-1]))
                    self.report(Level.ERROR, "missing-key", f"“{missing}” is missing", path[:-1])
                else:
                    self.report(Level.ERROR, "bad-value", _sentence(fault), path)
            return None

    def _path(self, loc: tuple[int | str, ...]) -> Path:
        path: Path = ()
        for step in loc:
            path = (*path, step) if isinstance(step, int) else self.path_of(path, step)
        return path

    def errors(self) -> tuple[Finding, ...]:
        """Return what makes the file unusable. Costs nothing where nothing is wrong."""
        if not self.failed:
            return ()
        return tuple(finding for finding in self.findings() if finding.level is Level.ERROR)

    def findings(self) -> tuple[Finding, ...]:
        """Return all there is to say, from the first line to the last."""
        if self._broken is not None:
            return (self._broken,)
        worst_first = sorted(self._told, key=lambda told: _RANK[told.level])
        told = worst_first[:MAX_FINDINGS]
        wanted = {t.path[:length] for t in told for length in range(len(t.path) + 1)}
        walk = locate(self.text, wanted)
        lines = LineIndex(self.text)
        found: list[Finding] = []
        for t in told:
            length = next(n for n in range(len(t.path), -1, -1) if t.path[:n] in walk.spots)
            spot = walk.spots[t.path[:length]]
            place = lines.at(spot.key if t.at_key else spot.start)
            found.append(Finding(t.level, t.code, t.sentence, format_path(t.path), *place))
        for path, offset in walk.doubled[:MAX_FINDINGS]:
            sentence = f"“{path[-1]}” stands twice in one object; this one counts."
            where = (format_path(path), *lines.at(offset))
            found.append(Finding(Level.WARNING, "doubled-key", sentence, *where))
        return tuple(sorted(found, key=lambda finding: (finding.line, finding.column)))

    def raise_errors(self, source: str) -> None:
        """Raise the first error, with its place, as an InputError."""
        error = _first_error(self.errors(), source)
        if error is not None:
            raise error


def _first_error(findings: tuple[Finding, ...], source: str) -> InputError | None:
    """Return the first error among findings as an exception that tells file and place."""
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    if not errors:
        return None
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    place = f"line {first.line}, column {first.column}"
    if first.code == "not-json":
        return InputError(f"{source}: {place}: {first.sentence}")
    return InputError(f"{source}: {first.path} ({place}): {first.sentence}{more}")


_RANK = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


def _sentence(fault: ErrorDetails) -> str:
    """Say one of pydantic's complaints in our words."""
    given = describe_value(fault["input"])
    context = fault.get("ctx", {})
    match fault["type"]:
        case "literal_error":
            known = str(context["expected"]).replace("'", "").replace(" or ", ", ")
            return f"must be one of {known}, not {given}"
        case "greater_than":
            return f"must be greater than {context['gt']}, not {given}"
        case "greater_than_equal":
            return f"must be {context['ge']} or more, not {given}"
        case "less_than_equal":
            return f"must be {context['le']} or less, not {given}"
        case "int_from_float":
            return f"must be a whole number, not {given}"
        case "value_error":
            return f"must be {context['error']}, not {given}"
        case other if other in _WANTED:
            return f"must be {_WANTED[other]}, not {given}"
        case _:
            return f"{fault['msg'][:1].lower()}{fault['msg'][1:]}"


_WANTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def describe_value(value: object) -> str:
    """Say what a file has where something else was wanted, in a few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            words = str(value) if abs(value) < 10**15 else ""
            return words or "a number"
        case str():
            return f"“{value}”" if len(value) <= 24 and value.isprintable() else "text"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def require_number(value: object) -> float:
    """Check a number, and leave it as it was written: 1 stays 1. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    return value


def as_object(value: object) -> Mapping[str, Any] | None:
    """Return a JSON object as what it is; None for everything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object]:
    """Return a JSON list as what it is; an empty one for everything else."""
    return cast("list[object]", value) if isinstance(value, list) else []
