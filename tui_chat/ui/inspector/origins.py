"""Origins in words: what is under the cursor of the body, and the rule that put it there; and the
kinds of origin by color, or by letter without colors.
"""

from __future__ import annotations

from itertools import chain

from textual.color import Color
from textual.widget import Widget

from tui_chat.compose import Composed
from tui_chat.library.editing.places import place_in_request
from tui_chat.models.envelope import Turn
from tui_chat.models.payload import Arr, Obj, Str, Tree
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.base import SYSTEM_INSTRUCTION, describe_adapted_role
from tui_chat.ui.inspector.drawn_row import SYSTEM_KEYS, CursorTarget
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


def placement_rule(under: CursorTarget, composed: Composed) -> str:
    """Return where the turn under the cursor goes, as the form of a preset message says it, or the
    rule that placed it, and how the protocol changed it; of what is no turn, that it is of the
    protocol, or nothing.
    """
    turn = _turn_at(under, composed.envelope.turns)
    if turn is None:
        is_glue = under.origin.kind is OriginKind.GLUE and under.owner.kind is OriginKind.GLUE
        return "structure of the body" if is_glue else ""
    top, item = _item(composed.payload.tree, under.pointer)
    role = item.get("role") if isinstance(item, Obj) else None
    role_word = role.text.plain if isinstance(role, Str) else turn.role
    adapted = SYSTEM_INSTRUCTION if top in SYSTEM_KEYS else role_word
    is_preset = turn.origin.kind is OriginKind.PRESET
    place = place_in_request(composed, turn.origin.id).removeprefix("→ ") if is_preset else ""
    role_sentence = describe_adapted_role(turn.role, adapted, composed.protocol)
    sentences = place or turn.placement.rule, role_sentence
    return " ".join(filter(None, sentences))


def _item(tree: Tree, pointer: str) -> tuple[str, Tree | None]:
    """Return the top-level key of a pointer, and the item of its array."""
    names = pointer.split("/")
    array = tree.get(names[1]) if isinstance(tree, Obj) and len(names) > 1 else None
    if not isinstance(array, Arr) or len(names) < 3 or int(names[2]) >= len(array.items):
        return names[1] if len(names) > 1 else "", None
    return names[1], array.items[int(names[2])]


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
