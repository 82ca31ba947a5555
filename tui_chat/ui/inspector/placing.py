"""Which rule placed what is under the cursor, and what the protocol made of it.

1. The context builder put a turn where it is; its placement says by which rule.
2. A protocol may call the turn's role otherwise, take it apart from the messages, or join it with
   its neighbours: that is read off the body, at the place.
"""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.roles import SYSTEM_INSTRUCTION, role_told
from tui_chat.ui.inspector.looking import Under

_APART = ("system", "systemInstruction", "system_instruction", "instructions")
"""Keys of a body under which stands what the system says, apart from the messages."""


def rule_of(under: Under, turns: tuple[Turn, ...], tree: Tree, protocol: Protocol) -> str:
    """Return the rule that placed the turn a piece belongs to, and what the protocol made of the
    turn there; empty where it belongs to none.
    """
    turn = _turn_at(under, turns)
    if turn is None:
        return ""
    top, item = _item(tree, under.pointer)
    role = item.get("role") if isinstance(item, Obj) else None
    said = role.text.plain if isinstance(role, Str) else turn.role
    told = [turn.placement.rule]
    told.append(role_told(turn.role, SYSTEM_INSTRUCTION if top in _APART else said, protocol))
    if top not in _APART and item is not None and (count := len(_turns_in(item))) > 1:
        told.append(f"{protocol.label} has it in one message with {_others(count - 1)}.")
    return " ".join(words for words in told if words)


def _others(count: int) -> str:
    return "its neighbour" if count == 1 else f"{count} neighbours"


def _item(tree: Tree, pointer: str) -> tuple[str, Tree | None]:
    """Return the body's key that a pointer goes through, and the item of its array."""
    names = pointer.split("/")
    array = tree.get(names[1]) if isinstance(tree, Obj) and len(names) > 1 else None
    if not isinstance(array, Arr) or len(names) < 3 or int(names[2]) >= len(array.items):
        return names[1] if len(names) > 1 else "", None
    return names[1], array.items[int(names[2])]


def _turns_in(node: Tree) -> set[tuple[OriginKind, str]]:
    """Return from which turns the texts in a message came."""
    match node:
        case Str():
            found = (_source(span.origin) for span in node.text.spans)
            return {(o.kind, o.id) for o in found if o.kind not in _NOT_TURNS}
        case Obj():
            children = [child for _, child in node.items]
        case Arr():
            children = list(node.items)
        case _:
            children = []
    return {turn for child in children for turn in _turns_in(child)}


_NOT_TURNS = (OriginKind.GLUE, OriginKind.SETTING, OriginKind.MACRO)


def _source(origin: Origin) -> Origin:
    while origin.within is not None:
        origin = origin.within
    return origin


def _turn_at(under: Under, turns: tuple[Turn, ...]) -> Turn | None:
    around: Origin | None = under.origin
    while around is not None:
        if around.kind is not OriginKind.GLUE and (turn := _turn_of(around, turns)):
            return turn
        around = around.within
    return _turn_of(under.owner, turns)


def _turn_of(origin: Origin, turns: tuple[Turn, ...]) -> Turn | None:
    """Find a turn by its origin, newest first, by identity before equality."""
    for turn in reversed(turns):
        if turn.origin is origin:
            return turn
    for turn in reversed(turns):
        if turn.origin.kind is origin.kind and turn.origin == origin:
            return turn
    return None
