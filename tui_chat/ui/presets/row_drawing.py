"""A row of the preset editor as pieces of text with style names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from tui_chat.analysis.unsent_messages import sets
from tui_chat.library.editing.outline import OutlineRow
from tui_chat.models.envelope import Level, Turn
from tui_chat.models.generation import only_on
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage, depth_words
from tui_chat.models.sanitize import one_line
from tui_chat.ui.presets.folding import Heading
from tui_chat.ui.presets.request_facts import RequestFacts
from tui_chat.ui.widgets.row_list import clipped

Piece = tuple[str, str]
"""Text, and the name of its style; empty for plain."""

CHECKBOX = (1, 4)
"""Columns of the checkbox: first, and the one after the last."""
_ROLES = {"system": "sys", "user": "usr", "assistant": "ast", "tool": "tool"}
"""The roles in a narrow row."""
_ROLE_WIDTH = len("assistant")
_WIDE = 56
"""Cells from which a row has whole roles."""
_ANCHOR_NAMES = {
    "chat_history": "Chat history",
    "user_profile": "User profile",
    "placeholder": "Placeholder",
    "example_dialogues": "Example dialogues",
}
_SYMBOLS = {Level.ERROR: "✗", Level.WARNING: "▲", Level.INFO: "●"}


def display_name(message: PresetMessage) -> str:
    """Return the name of a message in the list."""
    generic = message.type == "chat_history" or message.id == message.type
    named = message.name or (_ANCHOR_NAMES.get(message.type, "") if generic else "")
    return one_line(named or message.id, 80) or "(no name)"


def joints(rows: Sequence[OutlineRow], joined: Iterable[tuple[str, ...]]) -> dict[int, str]:
    """Return the bracket beside each row that is sent as one message with others, by row number;
    rows between them that are not have a dotted line.
    """
    numbers: dict[str, int] = {}
    for number, row in enumerate(rows):
        if row.message is not None and not row.disabled:
            numbers.setdefault(row.message.id, number)
    marks: dict[int, str] = {}
    for ids in joined:
        members = sorted(numbers[each] for each in ids if each in numbers)
        if len(members) < 2:
            continue
        first, last = members[0], members[-1]
        marks |= {number: marks.get(number, "┊") for number in range(first + 1, last)}
        marks |= dict.fromkeys(members[1:-1], "├") | {first: "┌", last: "└"}
    return marks


def row_pieces(
    row: OutlineRow,
    tokens: int | None,
    facts: RequestFacts,
    names: dict[str, str],
    width: int,
    *,
    unsaved: bool,
    joint: str = " ",
    heading: Heading | None = None,
    is_folded: bool = False,
) -> list[Piece]:
    """Return the pieces of a row, `width` cells in all. `names` are those of the anchors, by id;
    `joint` is the bracket of messages that are sent as one; `heading` that of the group which the
    row heads; `is_folded` is True for the history's anchor without the rows below it.
    """
    if row.message is None:
        return _ghost(row, facts, width)
    message = row.message
    box = heading.box if heading is not None else "[x]" if message.enabled else "[ ]"
    left: list[Piece] = [
        ("●" if unsaved else " ", "unsaved"),
        (box, "box"),
        *([(" " + "  " * row.indent, "")] if joint == " " else []),
        *([] if joint == " " else [(joint, "joint"), ("  " * row.indent, "")]),
    ]
    if heading is not None:
        return heading_pieces(heading, left, width)
    figure = _figure(tokens, sent=not row.disabled)
    if message.is_anchor:
        sign = ("▸" if is_folded else "▾") if row.anchor == CHAT_HISTORY else "◆"
        return _anchor(row, message, left, figure, facts, width, sign)
    mark = _role(message.role, width)
    left.append((f"{mark} ", "off" if row.disabled else message.role))
    # Without messages to lie between, the history is drawn as it will be.
    is_clamped = len(facts.history) > 1 and any(n.code == "depth-clamped" for n in row.notes)
    place = _place(row, names, is_clamped=is_clamped) if width >= 34 else ""
    place = f"{place} {_cache_mark(message)}".strip()
    right: list[Piece] = [(f" {place} ", "place"), (figure, "tokens")]
    room = width - _width(left) - _width(right)
    name = clipped(display_name(message), max(room, 1))
    set_here = facts.set_variables.get(message.id, ()) if message.enabled else ()
    filling = sets(set_here) if set_here else facts.fillings.words_for(message, tokens)
    rest = room - cell_len(name)
    preview = [(clipped(f"  {filling}", rest), "place")] if filling else _preview(row, rest)
    middle = [(name, "off" if row.disabled else "name"), *preview]
    gap = max(room - _width(middle), 0)
    return [*left, *middle, (" " * gap, ""), *right]


def _role(role: str, width: int) -> str:
    """Return a role, in a column of its own where there is room."""
    return f"{role:<{_ROLE_WIDTH}}" if width >= _WIDE else _ROLES.get(role, role)


def _preview(row: OutlineRow, room: int) -> list[Piece]:
    """Return the first words of a message and its info note, at least the note's symbol.

    A clamped depth is shown by the place instead.
    """
    assert row.message is not None
    notes = [n for n in row.notes if n.level is Level.INFO and n.code != "depth-clamped"]
    words = one_line(row.message.content, 200)
    if not notes:
        return [(f"  {clipped(words, room - 2)}", "preview")] if words and room >= 10 else []
    if room < 32:
        symbol = f"  {_SYMBOLS[Level.INFO]}"
        begun = [(f"  {clipped(words, room - 5)}", "preview")] if words and room >= 10 else []
        return [*begun, (clipped(symbol if begun else symbol[1:], room), "info")]
    preview = clipped(words, room // 3)
    # The row names the message already.
    sentence = one_line(notes[0].sentence).removeprefix(f"“{row.message.name or row.message.id}” ")
    note = f"  {_SYMBOLS[Level.INFO]} {sentence}"
    before = [(f"  {preview}", "preview")] if preview else []
    return [*before, (clipped(note, room - _width(before)), "info")]


def heading_pieces(heading: Heading, left: list[Piece], width: int) -> list[Piece]:
    """Return the pieces of a heading, after those at its left."""
    figure = _figure(heading.tokens)
    words = f" {heading.words} "
    room = width - _width(left) - cell_len(figure) - cell_len(words)
    sign = "▸" if heading.is_folded else "▾"
    mark = f"{_SYMBOLS[heading.worst]} " if heading.worst is not None else ""
    title = clipped(f"{sign} {one_line(heading.title, 80)} ", max(room - len(mark), 1))
    line = "─" * max(room - cell_len(title) - len(mark), 0)
    warned = [(mark, str(heading.worst))] if mark else []
    style = "heading" if heading.box else "part"
    right = [*warned, (line, "line"), (words, "place" if heading.box else "tokens")]
    return [*left, (title, style), *right, (figure, "tokens")]


def _anchor(
    row: OutlineRow,
    message: PresetMessage,
    left: list[Piece],
    figure: str,
    facts: RequestFacts,
    width: int,
    sign: str,
) -> list[Piece]:
    name = display_name(message)
    detail = ""
    if not row.disabled:
        match message.type:
            case "chat_history":
                detail = _history_words(facts)
                figure = _figure(None if detail == _UNKNOWN else facts.history_tokens)
            case "user_profile" if message.anchor_id == facts.fillings.profile_anchor:
                detail = facts.profile[0]
                figure = _figure(facts.profile[1]) if detail else figure
            case _:
                detail = facts.fillings.words_for(message, None)
        if lore := facts.lore.get(message.anchor_id, 0):
            detail = f"{detail} +{lore} lore".strip()
    style = "off" if row.disabled else "anchor"
    detail = f"{detail} {_cache_mark(message)}".strip()
    tail = f" {detail} " if detail else ""
    head = f"{sign} {name} "
    room = width - _width(left) - cell_len(figure)
    head = clipped(head, room)
    tail = clipped(tail, max(room - cell_len(head), 0))
    line = "─" * max(room - cell_len(head) - cell_len(tail), 0)
    return [*left, (head, style), (line, "line"), (tail, "place"), (figure, "tokens")]


def _cache_mark(message: PresetMessage) -> str:
    lifetime = message.cache_control
    return f"cache {lifetime}" if lifetime else ""


_UNKNOWN = "…"


def _history_words(facts: RequestFacts) -> str:
    count = len(facts.history)
    if facts.dropped and not count:
        return (
            f"none of {facts.dropped:,} messages fits" if facts.dropped > 1 else "1 left out to fit"
        )
    if not count and not facts.fillings.is_known:
        return _UNKNOWN
    none = f"none sent, {facts.muted:,} muted" if facts.muted else "no messages yet"
    summary = f"{count:,} message{'s' * (count != 1)}" if count else none
    return f"{summary}, {facts.dropped:,} left out to fit" if facts.dropped else summary


def _ghost(row: OutlineRow, facts: RequestFacts, width: int) -> list[Piece]:
    figure = _figure(None)
    count = len(facts.history)
    match row.ghost:
        case "role":
            name, tokens = facts.role
            words = f"role “{name}”: its prompt" if name else facts.fillings.role_words
            figure = _figure(tokens) if name else figure
        case "history":
            history = _history_words(facts)
            words = f"the history goes last: {history}"
            figure = _figure(None if history == _UNKNOWN else facts.history_tokens)
        case "oldest":
            words = _turn_preview(facts.history[:1], "the oldest message", width)
        case "newest":
            words = _turn_preview(
                facts.history[-1:] if count > 1 else (), "the newest message", width
            )
        case "message":
            turn = facts.history_at(row.depth or 0)
            words = _turn_preview((turn,) if turn else (), "a message", width)
        case "draft":
            words = "what you type" if facts.is_typed else "the message to answer"
            words = f"{words}: {facts.draft[0]}" if facts.draft[0] else words
            figure = _figure(facts.draft[1]) if facts.draft[0] else figure
        case _:
            more = row.skipped or count - facts.shown
            words = f"… {more:,} more" if more > 0 else "…"
    left = "     " + "  " * row.indent
    room = width - cell_len(left) - cell_len(figure)
    words = clipped(words, max(room, 1))
    pad = " " * max(room - cell_len(words), 0)
    return [(left, ""), (words + pad, "ghost"), (figure, "ghost")]


def _turn_preview(turns: Sequence[Turn], otherwise: str, width: int) -> str:
    if not turns:
        return otherwise
    turn = turns[0]
    return f"{_role(turn.role, width)} {one_line(turn.text.plain, 120)}"


def _place(row: OutlineRow, names: dict[str, str], *, is_clamped: bool) -> str:
    message = row.message
    assert message is not None
    order = f", order {message.order}" if message.order else ""
    match row.placement:
        case "after" if row.anchor == CHAT_HISTORY:
            return f"depth 0{order}"
        case "before" | "after":
            at = "history" if row.anchor == CHAT_HISTORY else names.get(row.anchor, row.anchor)
            return f"{row.placement} {clipped(one_line(at, 40), 14)}{order}"
        case "depth":
            end = "→oldest" if (row.depth or 0) < 0 else "→newest"
            end = end if is_clamped else ""
            return f"{depth_words(row.depth or 0)}{end}{order}"
        case "unplaced":
            return only_on(message.triggers) if message.triggers else "not placed"
        case _:
            return ""


def _figure(tokens: int | None, *, sent: bool = True) -> str:
    if tokens is None:
        return "       "
    return f"{tokens:>6,} " if sent else f"{f'({tokens:,})':>7}"


def note_pieces(sentence: str, level: Level, indent: int, width: int) -> list[Piece]:
    """Return the pieces of the line of a note."""
    left = "     " + "  " * indent
    text = clipped(f"{_SYMBOLS[level]} {one_line(sentence)}", max(width - len(left) - 1, 1))
    pad = " " * max(width - len(left) - cell_len(text), 0)
    return [(left, ""), (text + pad, str(level))]


def _width(pieces: list[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)
