"""Consent to a tool call of `tui-chat ask`: the question on the terminal, and the call's answer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_chat.cli.ask_output import session_words
from tui_chat.errors import NeedsUser
from tui_chat.models.sanitize import one_line
from tui_chat.models.tool import origin_text

if TYPE_CHECKING:
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.workspace import Workspace


async def answer_call(
    workspace: Workspace, call: PendingToolCall, allowed: Collection[str] = ()
) -> None:
    """Run a tool call if the user consents or has allowed the tool, else tell the model that they
    declined it. Raises NeedsUser if there is nobody to ask.
    """
    name, arguments = one_line(call.call.name), one_line(call.call.arguments, 2000)
    where = f"It waits in {session_words(workspace)}; answer it in the app."
    if workspace.state.is_temporary:
        where = "Without --temporary it would wait in a session for the app."
    if not call.can_run:
        raise NeedsUser(f"The model calls “{name}”, which has no command.", advice=where)
    if call.call.name in allowed:
        await workspace.tools.run(call.entry_id, call.call.id)
        return
    question = f"The model calls {name} with {arguments or 'no arguments'}\n{_origin(call)}"
    answer = await _ask_on_terminal(f"{question}Run it? [y/N] (t: yes, and this tool always) ")
    if answer is None:
        advice = f"{where} Or --allow-tool {name} lets it run"
        is_command = call.tool is not None and not call.tool.server
        advice += f', and so does `consent = "always"` in [tools.{name}].' if is_command else "."
        raise NeedsUser(
            f"The model calls the tool “{name}”, and there is no terminal to ask for consent on.",
            advice=advice,
        )
    if answer.strip().lower() in ("y", "yes", "t"):
        scope = "tool" if answer.strip().lower() == "t" else "call"
        await workspace.tools.run(call.entry_id, call.call.id, scope=scope)
    else:
        await workspace.tools.answer(call.entry_id, call.call.id, "The user declined this call.")


def _origin(call: PendingToolCall) -> str:
    """Return what would run, and what its server claims, as lines of the question."""
    tool = call.tool
    if tool is None or tool.definition.source is None:
        return ""
    claims = ", ".join(tool.claims) or "nothing about what it does"
    where = f"It is {origin_text(tool.definition.source)}: {tool.runs}"
    return f"{one_line(where)}\nThe server claims, and nobody checked: {one_line(claims)}.\n"


async def _ask_on_terminal(question: str) -> str | None:
    """Return the line that the user types on the terminal; None without a terminal."""
    try:
        terminal = os.open("/dev/tty" if sys.platform != "win32" else "CON", os.O_RDWR)
    except OSError:
        return None
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    try:
        os.write(terminal, question.encode())
        # A thread that waits for a line could not be stopped by Ctrl+C.
        loop.add_reader(terminal, lambda: readable.done() or readable.set_result(None))
        await readable
        return os.read(terminal, 4096).decode(errors="replace")
    except (NotImplementedError, OSError):  # Windows' event loop, and macOS' for terminals
        return (await asyncio.to_thread(os.read, terminal, 4096)).decode(errors="replace")
    finally:
        with suppress(NotImplementedError, OSError):
            loop.remove_reader(terminal)
        os.close(terminal)
