"""Origins around the body: the status line with origin, placement rule and JSON pointer under the
cursor, and the legend of the kinds of origin, each in its color, or by letter without colors.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise

from rich.cells import cell_len
from textual import events
from textual.color import Color
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import IN_HISTORY, Turn
from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.roles import SYSTEM_INSTRUCTION, describe_adapted_role
from tui_chat.ui.inspector.drawn_row import SYSTEM_KEYS, CursorTarget
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, cut, cut_front
from tui_chat.ui.widgets.typed_app import app_of

LETTERS: dict[OriginKind, str] = {
    OriginKind.SYSTEM: "s",
    OriginKind.PRESET: "p",
    OriginKind.PROFILE: "f",
    OriginKind.LORE: "l",
    OriginKind.HISTORY: "h",
    OriginKind.DRAFT: "d",
    OriginKind.MACRO: "m",
    OriginKind.TOOL: "o",
    OriginKind.SETTING: "t",
    OriginKind.EDIT: "e",
    OriginKind.GLUE: "·",
}
"""Lower case; a highlighted row has the capital."""


def origin_rules(prefix: str) -> str:
    """Return the style sheet's rules for the component classes `PREFIX--KIND`."""
    rules = (f"& > .{prefix}--{kind} {{ color: $origin-{kind}; }}\n" for kind in OriginKind)
    return "".join(rules)


def is_colorless(widget: Widget) -> bool:
    """Return True if `NO_COLOR` is set, or all origins are gray in the theme."""
    app = app_of(widget)
    if app.no_color:
        return True
    variables = [app.current_theme.variables.get(f"origin-{kind}") for kind in OriginKind]
    colors = [Color.parse(color) for color in variables if color]
    return bool(colors) and all(len(set(color.rgb)) == 1 for color in colors)


_NAMES: dict[OriginKind, tuple[str, str, str]] = {
    OriginKind.SYSTEM: ("system prompt", "system", "sys"),
    OriginKind.PRESET: ("preset", "preset", "pre"),
    OriginKind.PROFILE: ("profile", "profile", "prof"),
    OriginKind.LORE: ("lore", "lore", "lore"),
    OriginKind.HISTORY: ("history", "history", "hist"),
    OriginKind.DRAFT: ("draft", "draft", "draft"),
    OriginKind.MACRO: ("macro", "macro", "mac"),
    OriginKind.TOOL: ("tool", "tool", "tool"),
    OriginKind.SETTING: ("setting", "setting", "set"),
    OriginKind.EDIT: ("edited by hand", "by hand", "hand"),
    OriginKind.GLUE: ("protocol", "protocol", "prot"),
}

_FORMS = ((0, " "), (1, " "), (2, " "), (2, ""))
"""Index of the name, and the gap after its square, the widest form first."""


class Legend(Widget):
    """One line among the details; a click on a kind goes to its next place in the payload."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Legend {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    kinds: reactive[frozenset[OriginKind]] = reactive(frozenset[OriginKind]())
    """The kinds that occur."""
    current: reactive[OriginKind | None] = reactive[OriginKind | None](None)
    """The kind under the cursor."""

    def __init__(self, pick: Callable[[OriginKind], object]) -> None:
        super().__init__()
        self._pick = pick

    def render(self) -> Content:
        """Draw the kinds in the order of `OriginKind`, as long as they fit."""
        parts: list[tuple[str, str]] = []
        for kind, mark, name in self._labels():
            weight = "bold underline " if kind is self.current else ""
            parts += [(mark, f"$origin-{kind}"), (name, f"{weight}$origin-{kind}"), (" ", "")]
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[OriginKind, str, str]]:
        """Return each kind with its square or letter and its name, in the longest form to fit."""
        kinds = [kind for kind in OriginKind if kind in self.kinds]
        marks = LETTERS if is_colorless(self) else dict.fromkeys(OriginKind, "■")
        for form, gap in _FORMS if marks is not LETTERS else _FORMS[:-1]:
            labels = [(kind, marks[kind] + gap, _NAMES[kind][form]) for kind in kinds]
            if sum(len(mark + name) + 1 for _, mark, name in labels) - 1 <= self.size.width:
                return labels
        return [
            (kind, marks[kind], " " + _NAMES[kind][2] if kind is self.current else "")
            for kind in kinds
        ]

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for kind, mark, name in self._labels():
            width = len(mark + name) + 1
            if 0 <= x < width:
                self._pick(kind)
            x -= width


def placement_rule(
    under: CursorTarget, turns: tuple[Turn, ...], tree: Tree, protocol: Protocol
) -> str:
    """Return the rule that placed the turn under the cursor, and how the protocol changed the turn;
    empty if no turn is there.
    """
    turn = _turn_at(under, turns)
    if turn is None:
        return ""
    top, item = _item(tree, under.pointer)
    role = item.get("role") if isinstance(item, Obj) else None
    role_word = role.text.plain if isinstance(role, Str) else turn.role
    adapted = SYSTEM_INSTRUCTION if top in SYSTEM_KEYS else role_word
    sentences = [turn.placement.rule]
    sentences.append(describe_adapted_role(turn.role, adapted, protocol))
    if top not in SYSTEM_KEYS and item is not None and (count := len(_turns_in(item))) > 1:
        sentences.append(f"{protocol.label} sends it in one message with {_others(count - 1)}.")
    return " ".join(words for words in sentences if words)


def _others(count: int) -> str:
    return "its neighbor" if count == 1 else f"{count} neighbors"


def _item(tree: Tree, pointer: str) -> tuple[str, Tree | None]:
    """Return the top-level key of a pointer, and the item of its array."""
    names = pointer.split("/")
    array = tree.get(names[1]) if isinstance(tree, Obj) and len(names) > 1 else None
    if not isinstance(array, Arr) or len(names) < 3 or int(names[2]) >= len(array.items):
        return names[1] if len(names) > 1 else "", None
    return names[1], array.items[int(names[2])]


def _turns_in(node: Tree) -> set[tuple[OriginKind, str]]:
    match node:
        case Str():
            origins = (span.origin.outermost for span in node.text.spans)
            return {(o.kind, o.id) for o in origins if o.kind not in _NOT_TURNS}
        case Obj():
            children = [child for _, child in node.items]
        case Arr():
            children = list(node.items)
        case _:
            children = []
    return {turn for child in children for turn in _turns_in(child)}


_NOT_TURNS = (OriginKind.GLUE, OriginKind.SETTING, OriginKind.MACRO, OriginKind.TOOL)


def _turn_at(under: CursorTarget, turns: tuple[Turn, ...]) -> Turn | None:
    written = (each for each in under.origin.lineage() if each.kind is not OriginKind.GLUE)
    origins = chain(written, under.owner.lineage())
    return next((turn for each in origins if (turn := _turn_of(each, turns))), None)


def _turn_of(origin: Origin, turns: tuple[Turn, ...]) -> Turn | None:
    """Return the newest turn of an origin, by identity before equality."""
    for turn in reversed(turns):
        if turn.origin is origin:
            return turn
    for turn in reversed(turns):
        if turn.origin.kind is origin.kind and turn.origin == origin:
            return turn
    return None


class OriginStatus(Widget):
    """One line below the body, up to three as details."""

    DEFAULT_CSS = """
    OriginStatus {
        height: auto;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    lines: reactive[int] = reactive(1, layout=True)
    """The number of lines, 1 to 3."""
    under: reactive[CursorTarget | None] = reactive[CursorTarget | None](None)
    """The piece under the cursor."""
    rule: reactive[str] = reactive("")
    """The placement rule of its turn, as a sentence; empty for none."""

    places: reactive[str] = reactive("")
    """Which of the highlighted places the cursor is on, in words; empty for none."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Always take the lines there are, so that the body does not move."""
        return self.lines

    def render(self) -> Content:
        under = self.under
        width = self.size.width
        if under is None:
            lines = _wrapped(self.rule, width, self.lines)
            return Content.styled("\n".join(lines), "$foreground 72%")
        taken = 4 + cell_len(self.places) if self.places else 2
        label = cut(origin_phrase(under), width - taken)
        kind = under.origin.kind
        parts = [("▍ ", f"$origin-{kind}"), (label, f"bold $origin-{kind}")]
        room = width - 2 - cell_len(label)
        rule = f"hides {under.hidden}" if under.hidden else self.rule
        if self.lines == 1 and cell_len(rule) > room - 2:
            rule = rule.replace(IN_HISTORY.rule, "").strip()  # there is no room for what is plain
        style = "$text-warning" if under.hidden else "$foreground 72%"
        if self.lines == 1 and rule and not self.places and room >= 10:
            parts.append((f"  {cut(rule, room - 2)}", style))
        elif room >= 10:
            place = cut_front(self.places or under.pointer, room - 2)
            parts += [(" " * (room - cell_len(place)), ""), (place, "$foreground 72%")]
        for row in _wrapped(rule, width - 2, self.lines - 1):
            parts.append((f"\n  {row}", style))
        return Content.assemble(*parts)


def _wrapped(text: str, width: int, lines: int) -> list[str]:
    """Wrap a sentence to at most so many lines; the last is cut."""
    text = sanitize(text, "exact")
    room = max(width, LEAST)
    starts = [0, *breaks(text, room, room)][:lines]
    rows = [text[start:end].rstrip() for start, end in pairwise(starts)]
    return [*rows, cut(text[starts[-1] :], width)] if starts else []


def origin_phrase(under: CursorTarget) -> str:
    """Return an origin in words: `macro “date” in preset message “Style”`."""
    words = _phrase(under.origin)
    if under.origin.kind is OriginKind.GLUE and under.owner.kind is not OriginKind.GLUE:
        words += f" in {_phrase(under.owner)}"
    return words


def _phrase(inner: Origin) -> str:
    words, around = inner.label, inner.within
    if around is not None and (around.kind, around.id) == (inner.kind, inner.id):
        words, inner, around = f"{inner.name} of {around.label}", around, around.within
    while around is not None:
        is_book = inner.kind is OriginKind.LORE
        words += f" of the lorebook “{around.id}”" if is_book else f" in {around.label}"
        inner, around = around, around.within
    return words
