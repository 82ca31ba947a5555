"""Consent to a tool call of `tui-chat ask`: the question on the terminal, and the call's answer.

1. The question is the app's (`question_text`). It is asked only where all of it is on the screen
   at once; a longer one waits for the app.
2. Nothing typed ahead answers it: what was typed is discarded until nothing came for `QUIET`
   seconds in which the question was on the screen. Only then the answer is asked for.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_chat.cli.ask_output import session_words
from tui_chat.errors import NeedsUser
from tui_chat.models.sanitize import one_line
from tui_chat.models.tool import DECLINED
from tui_chat.models.tool_question import question_text

if TYPE_CHECKING:
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.workspace import Workspace

QUIET = 0.5
"""Seconds without a line typed before the question can be answered."""
_PROMPT = "Run it? [y/N] (t: yes, and this tool always) "


async def answer_call(
    workspace: Workspace, call: PendingToolCall, allowed: Collection[str] = ()
) -> None:
    """Run a tool call if the user consents or has allowed the tool, else tell the model that they
    declined it. Raises NeedsUser if there is nobody to ask, or the question is too long.
    """
    name, tools = one_line(call.call.name), workspace.tools
    where = f"It waits in {session_words(workspace)}; answer it in the app."
    if workspace.state.is_temporary:
        where = "Without --temporary it would wait in a session for the app."
    if not call.can_run:
        raise NeedsUser(f"The model calls “{name}”, which has no command.", advice=where)
    if call.call.name in allowed:
        await tools.run(call.entry_id, call.index)
        return
    if (terminal := _open_terminal()) is None:
        advice = f"{where} Or --allow-tool {name} lets it run"
        if call.tool is not None and not call.tool.server:
            advice += f', and so does `consent = "always"` in [tools.{name}]'
        sentence = (
            f"The model calls the tool “{name}”, and there is no terminal to ask for consent on."
        )
        raise NeedsUser(sentence, advice=f"{advice}.")
    try:
        text = "".join(text for text, _ in question_text(call.call, call.tool))
        question = f"The model calls a tool. {text}\n"
        if not _fits(terminal, question + _PROMPT):
            size = f"its arguments have {len(call.call.arguments):,} characters."
            sentence = f"The call of the tool “{name}” is too long to ask about here: {size}"
            raise NeedsUser(sentence, advice=where)
        answer = (await _ask(terminal, question)).strip().lower()
    finally:
        os.close(terminal)
    if answer in ("y", "yes", "t"):
        await tools.run(call.entry_id, call.index, scope="tool" if answer == "t" else "call")
    else:
        await tools.answer(call.entry_id, call.index, DECLINED)


def _open_terminal() -> int | None:
    if sys.platform == "win32":  # whose consoles cannot be asked whether a line waits
        return None
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None


def _fits(terminal: int, question: str) -> bool:
    """Return True if a question is on the screen as a whole."""
    columns, rows = 80, 24
    with suppress(OSError):
        size = os.get_terminal_size(terminal)
        columns, rows = size.columns or columns, size.lines or rows
    return sum(max(-(-cell_len(line) // columns), 1) for line in question.split("\n")) <= rows


async def _ask(terminal: int, question: str) -> str:
    """Write a question, and return the line that the user types after it."""
    _write(terminal, question)
    is_quiet = False
    while not is_quiet:
        _discard_typed(terminal)
        await asyncio.sleep(QUIET)
        is_quiet = not _discard_typed(terminal)
    _write(terminal, _PROMPT)
    return await _read_line(terminal)


def _write(terminal: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(terminal, data) :]


def _discard_typed(terminal: int) -> bool:
    """Discard what was typed; return True if there was a line."""
    import termios

    readable, _, _ = select.select([terminal], [], [], 0)
    termios.tcflush(terminal, termios.TCIFLUSH)
    return bool(readable)


async def _read_line(terminal: int) -> str:
    """Return the next line that is typed."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    try:
        # A thread that waits for a line could not be stopped by Ctrl+C.
        loop.add_reader(terminal, lambda: readable.done() or readable.set_result(None))
        await readable
        return os.read(terminal, 4096).decode(errors="replace")
    except (NotImplementedError, OSError):  # macOS' event loop, for terminals
        return (await asyncio.to_thread(os.read, terminal, 4096)).decode(errors="replace")
    finally:
        with suppress(NotImplementedError, OSError):
            loop.remove_reader(terminal)
