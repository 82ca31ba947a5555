"""Test cases of presets: a preset, a conversation, and the expected request, as a JSON file.

    {"id": "reminder", "at": "depth -2"}    a message of the preset is sent, there
    {"id": "style", "before": "history"}    … before another one (or "after")
    {"id": "notes", "sent": false}          it is not sent
    {"lore": "Pool"}                        a lore entry is active (or "active": false)
    {"maxTokens": 900}                      the request has at most so many tokens
    {"noNotes": "warning"}                  nothing of this level, or worse, is reported
    {"body": {...}}                         the body is equal to this JSON

1. The parts of a case are in it, or in files named relative to it. A JSON file is a case if it has
   `expected` or `checks`, or `preset` and one of `draft` and `history`. Other files of a folder
   (presets, roles, lorebooks, conversations) are ignored.
2. `expected` is the whole request; `checks`, the objects above, are about parts of it. What is
   expected of the reply (`REPLY_KEYS`) is left to suites, whose requests are sent.
3. An expected turn has `role` and `content`, and as much of `origin` and `placement` as matters:
   `"preset"` or `"preset:reminder"`, `"depth"` or `"depth 3"`.
4. A case is a test, so an unknown key is an error, and a message or entry that does not exist fails
   its check: it may be misspelled.
5. `at` is the number of a turn, from 0, below 0 from the last one; or a placement in the words of
   `placement_words`. A depth is the one after clamping, or as the preset has it.
6. Without a colon an id is that of a preset message, or a kind of origin: `history`, `draft`,
   `profile`. With a colon it is that of another origin: `history:3`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from tui_chat.compose import Composed
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.inputs import EPOCH
from tui_chat.context.sent_texts import split_turn
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.interop.messages import read_history
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.json_locations import format_path, locate
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.presets import parse_preset
from tui_chat.library.roles_and_profiles import parse_profile, parse_role
from tui_chat.models.boundary import Range, camel_case
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level, Placement, Turn
from tui_chat.models.json_text import as_array, object_or_none
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import Preset
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind

_MOST_NOTES = 3
"""Notes that the fault of a check has."""


@dataclass(frozen=True, slots=True)
class SentCheck:
    """A message is sent, and where; or it is not sent."""

    id: str
    at: int | str | None = None
    before: str = ""
    after: str = ""
    sent: bool = True

    def fault(self, composed: Composed) -> str:
        places = _places(composed.envelope.turns, self.id)
        if not self.sent:
            if places:
                return f"{_quoted(self.id)} is sent, {_where(places[0])}."
            return _unknown(composed, self.id)
        if not places:
            return _why_unsent(composed, self.id)
        if self.at is not None and not any(self._is_at(place, composed) for place in places):
            asked = f"turn {self.at}" if isinstance(self.at, int) else self.at
            return f"{_quoted(self.id)} is {_where(places[0])}, not {asked}."
        for other, is_before in ((self.before, True), (self.after, False)):
            if other and (fault := self._order_fault(composed, places, other, is_before)):
                return fault
        return ""

    def _is_at(self, place: _Place, composed: Composed) -> bool:
        if isinstance(self.at, int):
            count = len(composed.envelope.turns)
            return place.turn == (self.at if self.at >= 0 else count + self.at)
        placement = place.piece.placement
        asked = () if placement.asked is None else (f"{placement.kind} {placement.asked}",)
        return self.at in (placement.kind, placement_words(placement), *asked)

    def _order_fault(
        self, composed: Composed, places: list[_Place], other: str, is_before: bool
    ) -> str:
        theirs = _places(composed.envelope.turns, other)
        if not theirs:
            return _why_unsent(composed, other)
        own = places[-1] if is_before else places[0]
        limit = theirs[0] if is_before else theirs[-1]
        if own.number < limit.number if is_before else own.number > limit.number:
            return ""
        word = "before" if is_before else "after"
        return f"{_quoted(self.id)} is {_where(own)}, not {word} {_quoted(other)}."


@dataclass(frozen=True, slots=True)
class LoreCheck:
    """A lore entry is active, or it is not. It is named by its name or its id."""

    lore: str
    active: bool = True

    def fault(self, composed: Composed) -> str:
        books = composed.inputs.lorebooks if composed.inputs is not None else ()
        entries = [entry for book in books for entry in book.entries]
        if not any(self.lore in (entry.name, entry.id) for entry in entries):
            names = [entry.name or entry.id for entry in entries]
            return f"No lorebook has an entry {_quoted(self.lore)}.{_meant(self.lore, names)}"
        turns = composed.envelope.turns
        active = any(self._is_named(span.origin) for turn in turns for span in turn.text.spans)
        if active is self.active:
            return ""
        return f"{_quoted(self.lore)} is {'active' if active else 'not active'}."

    def _is_named(self, of_text: Origin) -> bool:
        origin = of_text.lore_entry
        if origin is None:
            return False
        book = origin.within.id if origin.within is not None else ""
        return self.lore in (origin.name, origin.id.removeprefix(f"{book}/"))


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """The request has at most so many tokens."""

    max_tokens: Annotated[int, Range(1)]

    def fault(self, composed: Composed) -> str:
        budget = composed.envelope.budget
        tokens = budget.total if budget is not None else sum(composed.envelope.tokens)
        if tokens <= self.max_tokens:
            return ""
        return f"The request has {tokens:,} tokens, {tokens - self.max_tokens:,} too many."


@dataclass(frozen=True, slots=True)
class NoteCheck:
    """The request has no note of a level, or a worse one."""

    no_notes: Literal["info", "warning", "error"]

    def fault(self, composed: Composed) -> str:
        levels = tuple(Level)
        unwanted = levels[levels.index(Level(self.no_notes)) :]
        notes = [note for note in composed.notes if note.level in unwanted]
        words = " ".join(f"{note.level}: {note.sentence}" for note in notes[:_MOST_NOTES])
        more = f" … and {len(notes) - _MOST_NOTES:,} more" if len(notes) > _MOST_NOTES else ""
        return words + more


@dataclass(frozen=True, slots=True)
class BodyCheck:
    """The whole body is equal to some JSON."""

    body: dict[str, Any]

    def fault(self, composed: Composed) -> str:
        body = json.loads(composed.payload.body)
        keys = dict.fromkeys((*self.body, *body))
        other = [key for key in keys if _text(self.body, key) != _text(body, key)]
        return f"The body differs in {', '.join(map(_quoted, other))}." if other else ""


RequestCheck: TypeAlias = SentCheck | LoreCheck | TokenCheck | NoteCheck | BodyCheck
"""Its `fault` is what is wrong, as a sentence; empty for nothing."""
CHECKS: Mapping[str, type[RequestCheck]] = {
    "id": SentCheck,
    "lore": LoreCheck,
    "max_tokens": TokenCheck,
    "no_notes": NoteCheck,
    "body": BodyCheck,
}
"""The check that an object is, by the field that it must have."""


def _text(body: Mapping[str, Any], key: str) -> str:
    return json.dumps(body[key], sort_keys=True) if key in body else ""


def origin_words(origin: Origin) -> str:
    """Return an origin as a case writes it: `preset:reminder`, `history:3`, `draft`."""
    if origin.kind is OriginKind.DRAFT or not origin.id:
        return origin.kind.value
    return f"{origin.kind.value}:{origin.id}"


def placement_words(placement: Placement) -> str:
    """Return a placement as a case writes it: `system`, `depth 3`, `before world`."""
    if placement.depth is not None:
        return f"{placement.kind} {placement.depth}"
    return f"{placement.kind} {placement.anchor}".strip()


@dataclass(frozen=True, slots=True)
class _Place:
    """A message in a request."""

    number: int
    """Its number among all messages, those of joined turns each by itself."""
    turn: int
    piece: Turn


def _places(turns: tuple[Turn, ...], name: str) -> list[_Place]:
    """Return the messages that an id names, or in which its text is, in their order."""
    pieces = ((index, piece) for index, turn in enumerate(turns) for piece in split_turn(turn))
    places = [_Place(number, *piece) for number, piece in enumerate(pieces)]
    named = f"{OriginKind.PRESET}:{name}"
    own = [place for place in places if named in _names(place.piece)]
    return own or [place for place in places if name in _names(place.piece)]


def _names(piece: Turn) -> set[str]:
    origins = {piece.origin, *(span.origin.outermost for span in piece.text.spans)}
    return {name for origin in origins for name in (origin_words(origin), origin.kind.value)}


def _where(place: _Place) -> str:
    return f"in turn {place.turn} ({placement_words(place.piece.placement)})"


def _unknown(composed: Composed, name: str) -> str:
    """Return that a preset has no message with an id; empty if it may have one."""
    kinds = [kind.value for kind in OriginKind]
    messages = composed.inputs.preset.messages if composed.inputs is not None else ()
    ids = [message.id for message in messages]
    if name in ids or name.partition(":")[0] in kinds:
        return ""
    return f"The preset has no message {_quoted(name)}.{_meant(name, ids)}"


def _why_unsent(composed: Composed, name: str) -> str:
    from tui_chat.analysis.unsent_messages import unsent_messages

    if unknown := _unknown(composed, name):
        return unknown
    reasons = [why for message, why in unsent_messages(composed) if message.id == name]
    return f"{_quoted(name)} is not sent{f': {reasons[0]}' if reasons else ''}."


def _meant(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" Did you mean {_quoted(close[0])}?" if close else ""


def _quoted(name: str) -> str:
    return f"“{one_line(name, 60)}”"


T = TypeVar("T")

MODEL = "gpt-4o"
"""The model of cases that name none; its vocabulary is bundled."""


def _parse_time(text: str, source: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no offset: the same text gives the same request on
    every machine. Raises InputError.
    """
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            f"{source}: “{text}” is not a time; write it as 2025-06-30T18:05 or "
            "2025-06-30T18:05:00+02:00"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ExpectedTurn:
    """A turn as a case describes it."""

    role: MessageRole
    content: str
    origin: str | None = None
    placement: str | None = None

    def matches(self, turn: Turn) -> bool:
        """Return True if a turn has everything that this one names."""
        return (
            self.role == turn.role
            and self.content == turn.text.plain
            and (self.origin is None or self.origin in _forms(origin_words(turn.origin), ":"))
            and (
                self.placement is None
                or self.placement in _forms(placement_words(turn.placement), " ")
            )
        )


def _forms(words: str, separator: str) -> tuple[str, str]:
    return words, words.partition(separator)[0]


@dataclass(frozen=True, slots=True)
class _CaseFile:
    preset: Any = None
    name: str = ""
    history: Any = None
    draft: str = ""
    role: Any = None
    profile: Any = None
    lorebooks: Any = None
    variables: dict[str, str] = field(default_factory=dict[str, str])
    at: str | None = None
    seed: int = 0
    model: str = ""
    protocol: Protocol = Protocol.OPENAI_CHAT
    limit: Annotated[int, Range(1)] | None = None
    reserve: Annotated[int, Range(0)] | None = None
    expected: tuple[ExpectedTurn, ...] | None = None
    checks: Any = None


REPLY_KEYS = ("assert", "threshold", "pass_rate")
"""The keys of what is expected of the reply."""
_CASE_KEYS = KnownKeys(
    (*(field.name for field in fields(_CaseFile)), *REPLY_KEYS),
    {
        "lorebooks": ("lorebook",),
        "limit": ("contextLimit", "context_limit"),
        "reserve": ("replyReserve", "reply_reserve"),
    },
)
_TURN_KEYS = KnownKeys(field.name for field in fields(ExpectedTurn))
_CHECK_KEYS = {
    subject: KnownKeys(field.name for field in fields(kind)) for subject, kind in CHECKS.items()
}
_INVALID_KEYS = ("misspelled-key", "unknown-key", "doubled-key")


@dataclass(frozen=True, slots=True)
class PresetCase:
    """One case, ready to be run."""

    path: Path
    name: str
    text: str
    inputs: Inputs
    expected: tuple[ExpectedTurn, ...] | None
    """The whole request; None if the case has no such expectation."""
    checks: tuple[tuple[str, RequestCheck], ...] = ()
    """Each with its place in the file."""
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The values of `REPLY_KEYS` that it has, as they are in the file."""

    def expects(self, turns: Sequence[Turn]) -> bool:
        """Return True if turns are the whole request that it expects."""
        expected = self.expected or ()
        return len(expected) == len(turns) and all(
            one.matches(turn) for one, turn in zip(expected, turns, strict=True)
        )


def find_cases(folder: Path) -> Iterator[Path]:
    """Yield the cases in a folder and its subfolders, by name; also files that cannot be read."""
    for path in sorted(folder.rglob("*.json")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            file = JsonFile(read_text(path, max_bytes=MAX_BYTES))
        except InputError:
            yield path
            continue
        value = object_or_none(file.value) or {}
        is_case = bool({"expected", "checks"} & set(value)) or (
            "preset" in value and _CONTENT & set(value)
        )
        if file.failed or is_case:
            yield path


_CONTENT = {"draft", "history"}


def load_case(path: Path) -> PresetCase:
    """Read a case and the files it names. Raises InputError naming file, place and fault."""
    file = JsonFile(read_text(path, max_bytes=MAX_BYTES))
    file.raise_errors(str(path))
    value = object_or_none(file.value)
    if value is None:
        raise InputError(f"{path}: a case must be a JSON object")
    if value.get("preset") is None:
        file.report(Level.ERROR, "missing-key", "“preset” is missing", ())
    case = read_case(file, str(path), path, value)
    refuse_invalid_keys(file, str(path))
    return case


def refuse_invalid_keys(file: JsonFile, source: str) -> None:
    """Raise InputError if a file in which cases were read has keys that are unknown, misspelled or
    duplicate. That scans the whole file.
    """
    for finding in file.findings():
        if finding.code in _INVALID_KEYS:
            where = f"{finding.path} (line {finding.line}, column {finding.column})"
            raise InputError(f"{source}: {where}: {finding.sentence}")


def read_case(
    file: JsonFile,
    source: str,
    path: Path,
    value: Mapping[str, Any],
    place: JsonPath = (),
    moved: Mapping[str, tuple[str, ...]] | None = None,
) -> PresetCase:
    """Read the case at a place of a file, and the files it names. Raises InputError naming
    `source`, place and fault. `moved` has the steps to fields that are not at their own key. A case
    without a preset has one without messages. Doubtful keys are left to `refuse_invalid_keys`.
    """
    case, _ = file.sort_keys(value, place, _CASE_KEYS)
    for name, steps in (moved or {}).items():
        file.set_path(place, name, *steps)
    reply = {name: case.pop(name) for name in REPLY_KEYS if name in case}
    if isinstance(case.get("expected"), list):
        at = file.path_of(place, "expected")
        turns = file.sort_each(case["expected"], at, _TURN_KEYS)
        case["expected"] = [turn for turn, _ in turns]
    content = file.read(_CaseFile, case, place)
    checks = tuple(_checks(file, case.get("checks"), file.path_of(place, "checks")))
    file.raise_errors(source)
    assert content is not None  # no error, so there is one
    inputs = _inputs(_Parts(path, source, file, place, case), content)
    return PresetCase(path, content.name, file.text, inputs, content.expected, checks, reply)


def _checks(file: JsonFile, values: object, where: JsonPath) -> Iterator[tuple[str, RequestCheck]]:
    """Yield the checks of a list with their places; faults become findings."""
    checks = as_array(values)
    if values is not None and values != checks:
        file.report(Level.ERROR, "bad-value", "must be a list of checks", where)
    for index, value in enumerate(checks):
        place = (*where, index)
        keys = object_or_none(value) or {}
        subject = next((name for name in CHECKS if {name, camel_case(name)} & set(keys)), "")
        if not subject:
            known = ", ".join(f"“{camel_case(name)}”" for name in CHECKS)
            sentence = f"must be a check: an object with one of {known}"
            file.report(Level.ERROR, "bad-value", sentence, place)
            continue
        known, _ = file.sort_keys(keys, place, _CHECK_KEYS[subject])
        check = file.read(CHECKS[subject], known, place)
        if check is not None:
            yield format_path(place), check


def _inputs(parts: _Parts, content: _CaseFile) -> Inputs:
    return Inputs(
        Endpoint("case", content.protocol, "https://case.invalid/v1", models=(MODEL,)),
        parts.one("preset", parse_preset) or Preset(""),
        history=parts.one("history", lambda text, source, _: read_history(text, source)) or (),
        draft=content.draft,
        role=parts.one("role", parse_role),
        profile=parts.one("profile", lambda text, source, _: parse_profile(text, source)),
        settings=SessionSettings(model=content.model),
        context_limit=content.limit,
        reply_reserve=content.reserve,
        now=_parse_time(content.at, parts.name_of("at")) if content.at else EPOCH,
        seed=content.seed,
        session_seed=content.seed,
        lorebooks=tuple(parts.each("lorebooks", parse_lorebook)),
        variables=content.variables,
    )


Parse = Callable[[str, str, str], T]
"""Parses a text; its source is for errors, and its name for values that have none."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a case, read from the case itself or from files named relative to it."""

    path: Path
    source: str
    file: JsonFile
    place: JsonPath
    values: Mapping[str, Any]

    def name_of(self, name: str) -> str:
        """Return the place of a part, for errors."""
        return f"{self.source}: {format_path(self.file.path_of(self.place, name))}"

    def one(self, name: str, parse: Parse[T]) -> T | None:
        """Read a part; None if the case has none."""
        value = self.values.get(name)
        where = self.file.path_of(self.place, name)
        return None if value is None else self._part(value, where, parse)

    def each(self, name: str, parse: Parse[T]) -> Iterator[T]:
        """Read the parts of a list, or a single part without a list."""
        value = self.values.get(name)
        if value is None:
            return
        where = self.file.path_of(self.place, name)
        parts = as_array(value)
        for index, part in enumerate(parts):
            yield self._part(part, (*where, index), parse)
        if not parts and value != parts:
            yield self._part(value, where, parse)

    def _part(self, value: object, where: JsonPath, parse: Parse[T]) -> T:
        if isinstance(value, str):
            file = self.path.parent / value
            try:
                return parse(read_file_text(file), str(file), file.stem)
            except InputError as error:
                raise InputError(f"{self.source}: {format_path(where)}: {error}") from error
        if isinstance(value, dict | list):
            source = f"{self.source} ({format_path(where)})"
            try:
                return parse(json.dumps(value), source, self.path.stem)
            except InputError:  # its place is looked for in the whole file, so only now
                return parse(self._in_its_place(where), source, self.path.stem)
        raise InputError(f"{self.source}: {format_path(where)} must be a path, or the value itself")

    def _in_its_place(self, where: JsonPath) -> str:
        """Return the text of a part, indented to its place in the case, so that faults in it are
        reported with the right line.
        """
        text = self.file.text
        spot = locate(text, {where})[where]
        return re.sub(r"[^\n]", " ", text[: spot.start]) + text[spot.start : spot.end]
