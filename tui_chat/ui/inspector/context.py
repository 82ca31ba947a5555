"""The context view: the turns before encoding, with origin, placement rule and tokens.

1. Turns are in zones: system messages, before the chat, the chat history, after the chat. The
   heading of a zone has the number of its messages and its tokens.
2. A turn is one row; unfolded it has its rule and its whole text. It stays unfolded from
   keystroke to keystroke, by its source.
3. What is not sent has a zone too, each message with the reason; messages of the history that are
   not sent are at the beginning of theirs.
4. Settings and tools go before the turns; see `settings_rows`. The model reads tools first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from tui_chat.analysis.history_parts import parts_of, shared
from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.context.turn_sources import preset_ids
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.envelope import ChatEnvelope, Dropped, Placement, Turn
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage, depth_words
from tui_chat.models.request_edit import EDITED
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.tool import definition_text, origin_text
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    RowsView,
    ViewRow,
    ViewRows,
    first_words,
    line,
    made_rows,
    spread,
    text_rows,
)
from tui_chat.ui.inspector.settings_rows import setting_parts
from tui_chat.ui.inspector.views import InProtocol, InspectorState

if TYPE_CHECKING:
    from tui_chat.compose import Composed


_BEFORE = "Before the chat"
_ZONES = {
    "system": "System",
    "skeleton": _BEFORE,
    "before": _BEFORE,
    "after": _BEFORE,
    "depth": "Chat history",
    "history": "Chat history",
    "draft": "Chat history",
}


class ContextCounts:
    """Zones and counts of a context; the next context costs its new turns only."""

    def __init__(self) -> None:
        self.zones: list[tuple[str, int, int]] = []
        """The zones: name, index of the first turn, index after the last."""
        self.ids = Counter[str]()
        """Number of messages of each preset message, by its id, also within others."""
        self.anchors = Counter[str]()
        """Number of turns placed at each anchor."""
        self._turns: tuple[Turn, ...] = ()

    def update(self, turns: tuple[Turn, ...]) -> None:
        """Count the turns of another context."""
        same = common_prefix(self._turns, turns)
        self._count(self._turns[same:], -1)
        self._count(turns[same:], 1)
        self._turns = turns
        zones = [(name, at, min(end, same)) for name, at, end in self.zones if at < same]
        for index in range(same, len(turns)):
            place = turns[index].placement
            name = _ZONES[place.kind]
            if name == _BEFORE and (
                (place.kind, place.anchor) == ("after", CHAT_HISTORY)
                or any(zone[0] != "System" and zone[0] != _BEFORE for zone in zones)
            ):
                name = "After the chat"
            if zones and zones[-1][0] == name:
                zones[-1] = name, zones[-1][1], index + 1
            else:
                zones.append((name, index, index + 1))
        self.zones = zones

    def _count(self, turns: tuple[Turn, ...], times: int) -> None:
        for turn in turns:
            if turn.pieces or turn.origin.kind is not OriginKind.HISTORY:
                for name in preset_ids(turn):
                    self.ids[name] += times
            for piece in turn.pieces or (turn,):
                self.anchors[piece.placement.anchor] += times


_ROLE_WIDTH = len("assistant ")
_FAR = 100
"""ViewRows in each direction in which the cursor's source is looked for."""
_UNFOLD = "unfold"


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A group of messages of the history that are not sent."""

    field: Literal["dropped", "muted"]
    """The field of the envelope that has them."""
    words: str
    """Why, in a word or two."""
    style: str
    why: str
    """Why, as a sentence about all of them."""
    hint: str
    """Why, as the beginning of a sentence about one of them, before its tokens."""

    @property
    def unfold(self) -> str:
        """The action that unfolds or folds it."""
        return f"unfold {self.field}"

    def of(self, envelope: ChatEnvelope) -> tuple[Dropped, ...]:
        """Return its messages."""
        return envelope.dropped if self.field == "dropped" else envelope.muted


_LEFT_OUT = (
    _LeftOut(
        "dropped",
        "left out to fit",
        "warning",
        "The newest messages that fit are kept; pinned ones always, calls with their results.",
        "Left out to fit: keeping it would have cost",
    ),
    _LeftOut(
        "muted",
        "muted, not sent",
        "muted",
        "Muted messages, and calls and results that go with them. m in the transcript unmutes one.",
        "Muted, not sent: it would cost",
    ),
)


class ContextView(RowsView):
    """Shows the turns of an envelope."""

    has_places = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._envelope: ChatEnvelope | None = None
        self._composed: Composed | None = None
        self._in_protocol: InProtocol | None = None
        self._counts = ContextCounts()
        self._edits: Mapping[tuple[OriginKind, str], str] = {}
        self._open: set[tuple[OriginKind, str]] = set()
        self._open_groups = set[str]()
        """The fields of the groups of messages that are not sent and unfolded."""
        self._at_end = True
        self._wanted: Origin | None = None
        """The origin to go to once there are rows."""

    def show_state(self, state: InspectorState) -> None:
        if (composed := state.composed) is not None:
            self._composed, self._in_protocol = composed, state.in_protocol
            self._envelope = composed.envelope
            self._edits = _edits_by_source(composed)
            self.rebuild()

    def forget(self) -> None:
        super().forget()
        self._envelope = self._composed = self._wanted = None
        self._counts = ContextCounts()
        self._at_end = True

    @property
    def origin_at_cursor(self) -> Origin | None:
        """The origin of the row under the cursor, or of the nearest row that has one; None while
        the cursor stays at the end.
        """
        if self._at_end:
            return None
        near = (self.rows[number].origin for number in _outward(self.cursor, len(self.rows)))
        return next((origin for origin in near if origin is not None), None)

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on the turn of an origin, or on the row that says why there is none.

        Returns False if there is neither.
        """
        if not self._built_for:
            self._wanted = origin
            return False
        key = _key(origin)
        for group in _LEFT_OUT if self._envelope is not None else ():
            messages = group.of(self._envelope) if self._envelope is not None else ()
            is_folded = group.field not in self._open_groups
            if is_folded and any(_key(one.origin) == key for one in messages):
                self._open_groups.add(group.field)
                self.rebuild()
        number = self._row_of(key)
        if number is None:
            return False
        self._at_end = False
        self.set_cursor(number)
        return True

    def _row_of(self, key: tuple[OriginKind, str]) -> int | None:
        """Return the first row of a source, without making the rows of turns."""
        kind, name = key
        for numbers, make in self.rows.parts():
            if isinstance(make, _Turns):
                turns = make.turns[make.start : make.start + len(numbers)]
                for number, turn in zip(numbers, turns, strict=True):
                    if turn.origin.id == name and turn.origin.kind is kind:
                        return number
                continue
            for number in numbers:
                origin = make(number - numbers.start).origin
                if origin is not None and _key(origin) == key:
                    return number
        return None

    def rebuild(self) -> None:
        """Build the rows again; the cursor stays on the same source."""
        was = self.rows[self.cursor].origin if self.cursor < len(self.rows) else None
        super().rebuild()
        if self._built_for and self._wanted is not None:
            origin_to_reveal, self._wanted = self._wanted, None
            self.reveal(origin_to_reveal)
            return
        if was is not None and not self._at_end and self.cursor < len(self.rows):
            for number in _outward(self.cursor, len(self.rows)):
                origin = self.rows[number].origin
                if origin is not None and _key(origin) == _key(was):
                    if number != self.cursor:
                        self.set_cursor(number)
                    return

    def choose(self, row: ViewRow) -> bool:
        """Fold and unfold."""
        unfolded = next((group for group in _LEFT_OUT if group.unfold == row.action), None)
        if unfolded is not None:
            self._open_groups ^= {unfolded.field}
        elif row.action == _UNFOLD and row.origin is not None:
            self._open ^= {_key(row.origin)}
        else:
            return False
        row_number, self._at_end = self.cursor, False
        self.rebuild()
        self.set_cursor(row_number)
        return True

    def build(self, width: int) -> ViewRows:
        envelope = self._envelope
        return ViewRows() if envelope is None else ViewRows(self._parts(envelope, width))

    def _parts(self, envelope: ChatEnvelope, width: int) -> Iterator[Part]:
        turns, tokens = envelope.turns, envelope.tokens or (0,) * len(envelope.turns)
        self._counts.update(turns)
        if self._composed is not None:
            yield from setting_parts(self._composed, self._in_protocol, self._open, width, _UNFOLD)
        yield from self._tools(envelope, width)
        zones = self._counts.zones
        for number, (name, start, stop) in enumerate(zones):
            if number:
                yield BLANK
            cost = counted(sum(tokens[start:stop]), "token")
            summary = f"{counted(stop - start, 'message')} · {cost}"
            yield line(*spread(width, ((name, "heading"),), summary))
            if name == "Chat history":
                for group in _LEFT_OUT:
                    yield from self._left_out(group, envelope, width)
            yield from self._zone(turns, tokens, range(start, stop), width)
        missing: list[tuple[PresetMessage, str]] = []
        if self._composed is not None:
            missing = unsent_messages(self._composed, self._counts.ids, self._counts.anchors)
        has_history = any(name == "Chat history" for name, _, _ in zones)
        has_left_out = not has_history and (envelope.dropped or envelope.muted)
        if missing or has_left_out:
            yield BLANK
            yield line(("Not sent", "heading"))
            for group in _LEFT_OUT if has_left_out else ():
                yield from self._left_out(group, envelope, width)
            yield made_rows([_missing_row(message, why, width) for message, why in missing])

    def _tools(self, envelope: ChatEnvelope, width: int) -> Iterator[Part]:
        """Yield the section of tool definitions: a row each, unfolded to its definition."""
        costs = envelope.budget.tools if envelope.budget is not None else ()
        if not costs:
            return
        cost = counted(sum(tokens for _, tokens in costs), "token")
        summary = f"{counted(len(costs), 'tool')} · {cost}"
        yield line(*spread(width, (("Tools", "heading"),), summary))
        defined = {tool.name: tool for tool in envelope.tools or ()}
        for name, tokens in costs:
            origin, tool = Origin(OriginKind.TOOL, name), defined.get(name)
            words = first_words(tool.description if tool else "of the provider", width)
            pieces = (
                ("▎", OriginKind.TOOL),
                (f"{cut(name, max(width // 2, 8))}  ", "strong"),
                (words, "muted"),
            )
            yield made_rows((ViewRow(spread(width, pieces, f"{tokens:,}"), origin, _UNFOLD),))
            if tool is not None and _key(origin) in self._open:
                text = definition_text(tool)
                if tool.source is not None:
                    text = f"{origin_text(tool.source)}\n{text}"
                yield made_rows(text_rows(text, width, "  │ ", "", origin))
        yield BLANK

    def _zone(
        self, turns: Sequence[Turn], tokens: Sequence[int], zone: range, width: int
    ) -> Iterator[Part]:
        """Yield the turns of a zone: rows made when visible, around the unfolded ones."""
        start = zone.start
        if self._open:
            for index in zone:
                if _key(turns[index].origin) in self._open:
                    yield self._folded(turns, tokens, start, index + 1, width)
                    cost = tokens[index] if turns[index].origin.kind is OriginKind.HISTORY else None
                    edits = self._edits.get(_key(turns[index].origin), "")
                    yield made_rows(_unfolded(turns[index], cost, width, edits))
                    start = index + 1
        yield self._folded(turns, tokens, start, zone.stop, width)

    def _folded(
        self, turns: Sequence[Turn], tokens: Sequence[int], start: int, stop: int, width: int
    ) -> Part:
        return stop - start, _Turns(turns, tokens, start, width, self._open, edits=self._edits)

    def _left_out(self, group: _LeftOut, envelope: ChatEnvelope, width: int) -> Iterator[Part]:
        """Yield the line of messages that are not sent, and those if it is unfolded."""
        messages = group.of(envelope)
        if not messages:
            return
        is_open = group.field in self._open_groups
        cost = sum(one.tokens for one in messages)
        words = f"{'▾' if is_open else '▸'} {len(messages):,} {group.words}"
        yield line(
            *spread(width, ((words, group.style),), f"{cost:,}"),
            action=group.unfold,
            hint=group.why,
        )
        if is_open:
            yield len(messages), _Turns(messages, (), 0, width, self._open, group.hint)


@dataclass(frozen=True, slots=True)
class _Turns:
    """Makes the rows of turns from an index on."""

    turns: Sequence[Turn | Dropped]
    tokens: Sequence[int]
    start: int
    width: int
    open: Set[tuple[OriginKind, str]]
    """The unfolded sources."""
    hint: str = ""
    """Why messages are not sent, without their tokens."""
    edits: Mapping[tuple[OriginKind, str], str] = field(
        default_factory=dict[tuple[OriginKind, str], str]
    )
    """Sentences on the edits by hand of sources."""

    def __call__(self, number: int) -> ViewRow:
        turn = self.turns[self.start + number]
        if isinstance(turn, Dropped):
            return _dropped_row(turn, self.hint, self.width)
        key = _key(turn.origin)
        tokens = self.tokens[self.start + number]
        return _turn_row(turn, tokens, key in self.open, self.width, self.edits.get(key, ""))


def _edits_by_source(composed: Composed) -> dict[tuple[OriginKind, str], str]:
    """Return the sentences on edits by hand by the sources of what they changed."""
    body = composed.edited
    if body is None or not body.applied:
        return {}
    from tui_chat.models.edited_body import sources_of  # few requests are edited

    notes = [n for n in composed.notes if n.code == EDITED and n.origin is not None]
    sentences = {note.origin.id: note.sentence for note in notes if note.origin is not None}
    edits: dict[tuple[OriginKind, str], str] = {}
    for result in body.results:
        sentence = "" if result.fault else sentences.get(result.edit.pointer, "")
        sources = sources_of(result, body.original) if sentence else ()
        keys = {_key(around): None for source in sources for around in source.lineage()}
        for key in keys:
            edits[key] = f"{edits[key]} {sentence}" if key in edits else sentence
    return edits


def _outward(number: int, count: int) -> Iterator[int]:
    """Yield row numbers around one, nearest first, as far as an edit moves rows."""
    if number < count:
        yield number
    for distance in range(1, _FAR):
        for near in (number + distance, number - distance):
            if 0 <= near < count:
                yield near


def _key(origin: Origin) -> tuple[OriginKind, str]:
    return origin.kind, origin.id


def _placement(turn: Turn) -> str:
    """Return where a turn was placed, if its zone does not say so; at most two words."""
    place = turn.placement
    match place.kind:
        case "before" | "after" if place.anchor:
            return f"{place.kind} {_anchor_name(place)}"
        case "depth":
            return "depth 0" if place.asked is None else depth_words(place.asked)
        case "draft" if turn.origin.kind is OriginKind.DRAFT:
            return "draft"
        case "skeleton" if place.anchor:
            return f"at {_anchor_name(place)}"
        case _:
            return ""


def _anchor_name(place: Placement) -> str:
    return "history" if place.anchor == CHAT_HISTORY else place.anchor_name or place.anchor


def _turn_row(turn: Turn, tokens: int, is_open: bool, width: int, edits: str = "") -> ViewRow:
    kind = turn.origin.kind
    pieces = [("▎", kind), (f"{turn.role:<{_ROLE_WIDTH}}", "strong")]
    if edits:
        pieces.append(("edited by hand ", OriginKind.EDIT))
    if where := _placement(turn):
        pieces.append(
            (f"{cut(where, max(width * 2 // 5, 8))} ", "link" if kind != "draft" else kind)
        )
    if kind not in (OriginKind.HISTORY, OriginKind.DRAFT) and turn.origin.name:
        pieces.append((f"{cut(turn.origin.name, max(width // 4, 8))}  ", kind))
    words = first_words(turn.text.plain, width)
    if not words:
        words = _wordless(turn)
    pieces.append((words, "" if is_open else "muted"))
    return ViewRow(
        spread(width, pieces, f"{tokens:,}"),
        turn.origin,
        _UNFOLD,
        edits or turn.placement.rule,
    )


def _wordless(turn: Turn) -> str:
    """Return what a turn without visible text has."""
    if turn.tool_calls:
        return f"calls {', '.join(call.name for call in turn.tool_calls)}"
    if turn.parts:
        return counted(len(turn.parts), "file")
    return "only white space" if turn.text.plain else "no text"


def _unfolded(turn: Turn, tokens: int | None, width: int, edits: str) -> list[ViewRow]:
    origin = turn.origin
    rows = text_rows(f"{origin.label}. {turn.placement.rule}", width, "  │ ", "muted", origin)
    if edits:
        rows += text_rows(edits, width, "  │ ", OriginKind.EDIT, origin)
    if tokens is not None and len(parts := parts_of(turn)) > 1:
        named = (f"{name or part} {count:,}" for part, name, count in shared(parts, tokens))
        rows += text_rows(f"Tokens: {', '.join(named)}.", width, "  │ ", "muted", origin)
    rows += text_rows(turn.text.plain, width, "  │ ", "", origin)
    for call in turn.tool_calls:
        rows += text_rows(f"calls {call.name}({call.arguments})", width, "  │ ", "setting", origin)
    for part in turn.parts:
        rows += text_rows(f"{part.kind} {part.name or part.mime}", width, "  │ ", "setting", origin)
    return rows


def _dropped_row(dropped: Dropped, hint: str, width: int) -> ViewRow:
    pieces = (
        ("┆", "bar"),
        (f"{dropped.role:<{_ROLE_WIDTH}}", "muted"),
        (first_words(dropped.preview, width), "muted"),
    )
    return ViewRow(
        spread(width, pieces, f"{dropped.tokens:,}"),
        dropped.origin,
        hint=f"{hint} {counted(dropped.tokens, 'token')}.",
    )


def _missing_row(message: PresetMessage, why: str, width: int) -> ViewRow:
    sign = "⚓ " if message.is_anchor else ""
    pieces = (("┆", "bar"), (sign, "muted"), (f"{message.name or message.id}  ", "preset"))
    origin = Origin(OriginKind.PRESET, message.id, message.name)
    return ViewRow(spread(width, pieces, why), origin, hint=f"{origin.label} is not sent: {why}.")
