"""The role that a turn gets in each protocol.

1. OpenAI Chat and Responses keep roles as they are; for models that require it, `system` is
   `developer`. Responses has items for tool results, not a role.
2. Anthropic has `user` and `assistant`; tool results are user content. System turns before all
   other turns are the top-level `system`. A later one stays in place if the model accepts that;
   else it is moved to the top, or becomes a user turn.
3. Gemini has `user` and `model`; tool results are user content. All system turns, joined by a
   blank line, are the one `system_instruction`.
"""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MessageRole

SYSTEM_INSTRUCTION = "system_instruction"
"""The adapted role of what leaves the list of messages for a place of its own."""

SYSTEM_SEPARATOR = "\n\n"
"""The separator of system turns that are joined into one text."""


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
