"""What the app asks about a message: its new text, a tool's answer, whether a tool may run."""

from __future__ import annotations

import shlex
from typing import Any

from textual.app import App

from tui_chat.models.message import Message, ToolCall
from tui_chat.models.tool import Tool
from tui_chat.models.visible import one_line, visible
from tui_chat.ui.dialogs import Confirm
from tui_chat.ui.writing import Write, Written

LONGEST = 2000
"""Characters of a call's arguments that are shown."""


async def ask_edit(app: App[Any], message: Message) -> Written | None:
    """Ask for another version of a message; a user's may be sent at once."""
    title = "Edit your message" if message.role == "user" else "Edit the message"
    dialog = Write(title, message.content, sends=message.role == "user")
    return await app.push_screen_wait(dialog)


async def ask_answer(app: App[Any], call: ToolCall, text: str) -> str | None:
    """Ask for a tool call's result, showing what is wanted; `text` is there to begin with."""
    about = f"{one_line(call.name)}\n{_arguments(call)}"
    written = await app.push_screen_wait(Write("Answer for the tool", text, about=about))
    return written.text if written is not None else None


async def may_run(app: App[Any], call: ToolCall, tool: Tool) -> bool:
    """Ask whether to run a tool's command, showing it with what the model wants of it."""
    question = (
        f"{one_line(call.name)} would run\n\n  {one_line(shlex.join(tool.command))}\n\n"
        f"and be given\n\n{_arguments(call)}"
    )
    return bool(await app.push_screen_wait(Confirm("Run this tool?", question, yes="Run")))


def _arguments(call: ToolCall) -> str:
    text = visible(call.arguments)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … {len(text):,} characters in all"
