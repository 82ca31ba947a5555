"""What the session's role has to say, and why it may not."""

from __future__ import annotations

from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import Listed, role_line
from tui_chat.context.parameters import active_role
from tui_chat.models.envelope import Level, Note


def opening_line(inputs: Inputs, notes: list[Note]) -> Listed | None:
    """Return the role's system prompt, unless there is none or something else speaks for it."""
    if inputs.role is None and inputs.role_missing:
        sentence = "The role of this session was deleted; the session works without it."
        notes.append(Note(Level.WARNING, "role-missing", sentence))
    if inputs.role is not None and inputs.role.status == "disabled":
        sentence = f"The role “{inputs.role.name}” is disabled; the session works without it."
        notes.append(Note(Level.WARNING, "role-disabled", sentence, role_line(inputs.role).origin))
    role = active_role(inputs)
    if role is None or not role.system_prompt:
        return None
    if inputs.history and inputs.history[0].role == "system":
        sentence = "The history begins with a system message, so the role's prompt is not added."
        notes.append(Note(Level.INFO, "role-prompt-skipped", sentence, role_line(role).origin))
        return None
    return role_line(role)
