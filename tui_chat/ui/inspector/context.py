"""The context view: the turns before encoding, with origin, placement rule and tokens.

1. Settings and tools go before the turns; the model reads tools first.
2. A setting, a tool or a turn is one row; unfolded it has all that is known of it. It stays
   unfolded from keystroke to keystroke, by its source.
3. What is not sent stands at the beginning of the chat history, or at the end, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.compose import Composed
from tui_chat.models.envelope import ChatEnvelope, Dropped, Turn
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage, depth_words
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.tool import definition_text, origin_text
from tui_chat.ui.inspector.body_nodes import Source
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    LaterRow,
    Part,
    Piece,
    RowsView,
    ViewRow,
    first_words,
    line,
    spread,
    styled,
    text_rows,
)
from tui_chat.ui.inspector.settings_rows import setting_parts

UNFOLD = "unfold"
"""The action of a row that has more to show."""
_ROLE = 10
"""Cells of the column of roles."""
_IN_CHAT = ("depth", "history", "draft")
"""Placements of the turns with which the chat history begins."""
_UNSENT = (
    ("dropped", "left out to fit", "Left out to fit; the newest messages are kept."),
    ("muted", "muted, not sent", "Muted; m in the conversation unmutes it."),
)
"""Fields of the envelope with messages that are not sent, and why, in words and as a sentence."""


class ContextView(RowsView):
    """Shows the turns of an envelope."""

    has_places = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._open: set[Source] = set()
        """The sources of unfolded rows."""
        self._open_groups: set[str] = set()
        """The groups of messages that are not sent and unfolded."""
        self._at_end = True

    def forget(self) -> None:
        super().forget()
        self._at_end = True

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on the turn of an origin, or on the row that says why there is none."""
        if self.state.composed is not None and self._built_for:
            for field, _, _ in _UNSENT:
                messages: tuple[Dropped, ...] = getattr(self.state.composed.envelope, field)
                if any(_key(message.origin) == _key(origin) for message in messages):
                    self._open_groups.add(field)
                    self.rebuild()
        return super().reveal(origin)

    def choose(self, row: ViewRow) -> bool:
        """Fold and unfold."""
        if row.action == UNFOLD and row.origin is not None:
            self._open ^= {_key(row.origin)}
        elif row.action.startswith(UNFOLD):
            self._open_groups ^= {row.action.removeprefix(UNFOLD).strip()}
        else:
            return False
        number, self._at_end = self.cursor, False
        self.rebuild()
        self.set_cursor(number)
        return True

    def build(self, width: int) -> Iterator[Part]:
        if (composed := self.state.composed) is None:
            return
        envelope = composed.envelope
        yield from setting_parts(composed, self._open, width, UNFOLD)
        yield from self._tools(envelope, width)
        turns = envelope.turns
        kinds = (turn.placement.kind for turn in turns)
        chat = next((n for n, kind in enumerate(kinds) if kind in _IN_CHAT), len(turns))
        yield from self._zone("System", envelope, range(chat), width)
        if chat:
            yield BLANK
        yield from self._zone("Chat history", envelope, range(chat, len(turns)), width)
        if missing := unsent_messages(composed):
            yield BLANK
            yield line(("Not sent", "heading"))
            yield [_missing_row(message, why, width) for message, why in missing]

    def _tools(self, envelope: ChatEnvelope, width: int) -> Iterator[Part]:
        """Yield the tool definitions: a row each, unfolded to its definition."""
        costs = envelope.budget.tools if envelope.budget is not None else ()
        if not costs:
            return
        yield _heading("Tools", len(costs), "tool", sum(tokens for _, tokens in costs), width)
        defined = {tool.name: tool for tool in envelope.functions}
        for name, tokens in costs:
            origin, tool = Origin(OriginKind.TOOL, name), defined.get(name)
            words = first_words(tool.description if tool else "of the provider", width)
            pieces = (("▎", "tool"), (f"{name}  ", "strong"), (words, "muted"))
            yield line(spread(width, pieces, f"{tokens:,}"), origin=origin, action=UNFOLD)
            if tool is not None and _key(origin) in self._open:
                source = "" if tool.source is None else f"{origin_text(tool.source)}\n"
                yield text_rows(source + definition_text(tool), width, "  │ ", "", origin)
        yield BLANK

    def _zone(self, name: str, envelope: ChatEnvelope, zone: range, width: int) -> Iterator[Part]:
        """Yield the turns of a zone: rows made when visible, and those of unfolded turns."""
        tokens = envelope.tokens or (0,) * len(envelope.turns)
        unsent = list(self._unsent(envelope, width)) if name == "Chat history" else []
        if not zone and not unsent:
            return
        yield _heading(name, len(zone), "message", sum(tokens[zone.start : zone.stop]), width)
        yield from unsent
        rows: list[ViewRow | LaterRow] = []
        for number in zone:
            turn = envelope.turns[number]
            make = partial(_turn_row, turn, tokens[number], width)
            rows.append(LaterRow(make, turn.origin))
            if self._open and _key(turn.origin) in self._open:
                rows += _unfolded(turn, width)
        yield rows

    def _unsent(self, envelope: ChatEnvelope, width: int) -> Iterator[Part]:
        """Yield the lines of messages that are not sent, and those if they are unfolded."""
        for field, words, why in _UNSENT:
            messages: tuple[Dropped, ...] = getattr(envelope, field)
            if not messages:
                continue
            is_open = field in self._open_groups
            words = f"{'▾' if is_open else '▸'} {len(messages):,} {words}"
            cost = sum(message.tokens for message in messages)
            content = spread(width, ((words, "warning"),), f"{cost:,}")
            yield line(content, action=f"{UNFOLD} {field}", hint=why)
            if is_open:
                yield [
                    LaterRow(partial(_dropped_row, message, why, width), message.origin)
                    for message in messages
                ]


def is_left_out(composed: Composed, origin: Origin) -> bool:
    """Return True if a message was dropped to fit the budget, or is muted."""
    unsent = (*composed.envelope.dropped, *composed.envelope.muted)
    return any(_key(message.origin) == _key(origin) for message in unsent)


def _heading(name: str, count: int, unit: str, tokens: int, width: int) -> Part:
    words = f"{counted(count, unit)} · {counted(tokens, 'token')}"
    return line(spread(width, ((name, "heading"),), words))


def _key(origin: Origin) -> Source:
    return origin.kind, origin.id


def _where(turn: Turn) -> str:
    """Return where a turn was placed, if its zone does not say so; at most two words."""
    place = turn.placement
    anchor = "history" if place.anchor == CHAT_HISTORY else place.anchor_name or place.anchor
    match place.kind:
        case "depth":
            return "depth 0" if place.asked is None else depth_words(place.asked)
        case "draft" if turn.origin.kind is OriginKind.DRAFT:
            return "draft"
        case "before" | "after" if anchor:
            return f"{place.kind} {anchor}"
        case "skeleton" if anchor:
            return f"at {anchor}"
        case _:
            return ""


def _turn_row(turn: Turn, tokens: int, width: int) -> ViewRow:
    kind = turn.origin.kind
    pieces: list[Piece] = [("▎", kind), (f"{turn.role:<{_ROLE}}", "strong")]
    if where := _where(turn):
        style = kind if where == "draft" else "link"
        pieces += [(cut(where, max(width * 2 // 5, 8)), style), (" ", "")]
    if kind not in (OriginKind.HISTORY, OriginKind.DRAFT) and turn.origin.name:
        pieces.append((f"{cut(turn.origin.name, max(width // 4, 8))}  ", kind))
    pieces.append((first_words(turn.text.plain, width) or _wordless(turn), "muted"))
    row = spread(width, pieces, f"{tokens:,}")
    return ViewRow(row, turn.origin, UNFOLD, turn.placement.rule)


def _wordless(turn: Turn) -> str:
    """Return what a turn without visible text has."""
    if turn.tool_calls:
        return f"calls {', '.join(call.name for call in turn.tool_calls)}"
    return counted(len(turn.parts), "file") if turn.parts else "no text"


def _unfolded(turn: Turn, width: int) -> Iterable[ViewRow]:
    """Return the rows below a turn: its rule, and all that it has."""
    texts = [(f"{turn.origin.label}. {turn.placement.rule}", "muted")]
    texts.append((turn.text.plain, ""))
    texts += [(f"calls {call.name}({call.arguments})", "setting") for call in turn.tool_calls]
    texts += [(f"{part.media} {part.name or part.mime}", "setting") for part in turn.parts]
    return (
        row for text, style in texts for row in text_rows(text, width, "  │ ", style, turn.origin)
    )


def _dropped_row(dropped: Dropped, why: str, width: int) -> ViewRow:
    words = f"{dropped.role:<{_ROLE}}{first_words(dropped.preview, width)}"
    pieces: Sequence[Piece] = (("┆", "bar"), (words, "muted"))
    return ViewRow(spread(width, pieces, f"{dropped.tokens:,}"), dropped.origin, hint=why)


def _missing_row(message: PresetMessage, why: str, width: int) -> ViewRow:
    anchor = "⚓ " if message.is_anchor else ""
    pieces = (("┆", "bar"), (f"{anchor}{message.name or message.id}  ", "preset"))
    origin = Origin(OriginKind.PRESET, message.id, message.name)
    hint = f"{origin.label} is not sent: {why}."
    return ViewRow(styled(spread(width, pieces, why)), origin, hint=hint)
