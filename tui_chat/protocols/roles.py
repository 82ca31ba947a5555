"""The role adapter: which role a turn gets in which protocol. Pure, and usable on its own.

1. OpenAI Chat and Responses keep roles as they are; for models that require it, `system` is
   `developer`. Responses has items for tool results, not a role.
2. Anthropic has `user` and `assistant`; tool results are user content. System turns before all
   other turns are the top-level `system`. A later one stays in place if the model accepts that;
   else it is moved to the top, or becomes a user turn.
3. Gemini has `user` and `model`; tool results are user content. All system turns, joined by a
   blank line, are the one `system_instruction`.
4. Nothing is dropped here; order within each place is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Text

SYSTEM_INSTRUCTION = "system_instruction"
"""The adapted role of what leaves the list of messages for a place of its own."""

SYSTEM_SEPARATOR = "\n\n"
"""The separator of system turns that are joined into one text."""

LaterSystem = Literal["in_place", "hoist", "user"]
"""The ways in which Anthropic sends a system turn that comes after other turns."""


@dataclass(frozen=True, slots=True)
class AdaptedTurn:
    """A turn and its role in a protocol."""

    turn: Turn
    adapted_role: str
    """`SYSTEM_INSTRUCTION`, or the value of the message's `role`."""


def adapted_role(role: MessageRole, protocol: Protocol, *, developer: bool = False) -> str:
    """Return a message's role in a protocol if the turn stays in the list of messages."""
    if protocol is Protocol.GEMINI:
        return _GEMINI[role]
    if protocol is Protocol.ANTHROPIC:
        return "user" if role == "tool" else role
    return "developer" if role == "system" and developer else role


_GEMINI: dict[MessageRole, str] = {
    "system": SYSTEM_INSTRUCTION,
    "user": "user",
    "assistant": "model",
    "tool": "user",
}


def adapt_roles(
    turns: Iterable[Turn],
    protocol: Protocol,
    *,
    developer: bool = False,
    later_system: LaterSystem = "hoist",
) -> tuple[AdaptedTurn, ...]:
    """Give every turn its adapted role, in order."""
    adapted: list[AdaptedTurn] = []
    leading = True
    for turn in turns:
        leading = leading and turn.role == "system"
        word = adapted_role(turn.role, protocol, developer=developer)
        if protocol is Protocol.ANTHROPIC and turn.role == "system":
            if leading or later_system == "hoist":
                word = SYSTEM_INSTRUCTION
            elif later_system == "user":
                word = "user"
        adapted.append(AdaptedTurn(turn, word))
    return tuple(adapted)


def extract_system_instruction(adapted: Iterable[AdaptedTurn]) -> Text:
    """Return the system instruction: the system turns, joined by a blank line."""
    texts = (a.turn.text for a in adapted if a.adapted_role == SYSTEM_INSTRUCTION)
    return Text.join(SYSTEM_SEPARATOR, texts)


def describe_adapted_role(role: MessageRole, adapted: str, protocol: Protocol) -> str:
    """Return a sentence on a turn's `adapted` role; empty if it is its own among the messages."""
    if adapted == SYSTEM_INSTRUCTION:
        if protocol is Protocol.GEMINI:
            return "Gemini takes all system text as one instruction, separate from the messages."
        return f"{protocol.label} takes system text separately from the messages."
    if adapted == role:
        return ""
    match role:
        case "system" if adapted == "developer":
            return "This model uses the role “developer” for system messages."
        case "system":
            return f"{protocol.label} gets this system message in the role “{adapted}”."
        case "tool":
            return f"{protocol.label} takes tool results in the role “{adapted}”."
        case _:
            return f"{protocol.label} calls the {role} “{adapted}”."
