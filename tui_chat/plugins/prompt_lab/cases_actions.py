"""Cases in the app: a turn becomes one, and the view of them is opened."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.models.session import Entry, last_reply
from tui_chat.plugins.prompt_lab.case_list import load_cases
from tui_chat.plugins.prompt_lab.suites import add_case, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.turn_cases import case_of, shortest_history
from tui_chat.ui.questions import ask_line

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

VIEW = "cases"


def reply_here(app: TuiChat, workspace: Workspace) -> Entry | None:
    """Return the reply under the cursor, else the last one; None if there is none."""
    current = app.conversation.current
    is_reply = current is not None and current.message.role == "assistant"
    return current if is_reply else last_reply(workspace.state.entries)


async def make_whole_case(app: TuiChat, wrong: str) -> None:
    """Make a reply a case as `make_case` does, with its whole conversation."""
    await make_case(app, wrong, is_whole=True)


async def make_case(app: TuiChat, wrong: str, *, is_whole: bool = False) -> None:
    """Make the reply under the cursor, else the last one, a case of its preset's suite; `wrong`
    says what is wrong with it, else that is asked.
    """
    workspace = await app.main.opened_workspace()
    entry = reply_here(app, workspace)
    if entry is None:
        raise InputError("There is no reply yet that could become a case.")
    sent = await workspace.sent.request(entry.message.id, workspace.state.entries)
    inputs = sent.composed.inputs if sent.composed is not None else None
    if inputs is None:
        raise InputError("The request of this reply was not composed here.", advice=sent.why)
    whole = len(inputs.history)
    count = whole if is_whole else await asyncio.to_thread(shortest_history, inputs)
    title = f"What is wrong? The case has the text of {_words(count, whole)}"
    name = wrong or await ask_line(app, title, may_be_empty=True, enter="add the case")
    if name is None:
        return
    preset = workspace.state.preset_name
    path = suite_file(workspace.state.config.config_dir, preset)
    is_first = not path.exists() and sample_suite(preset).exists()
    await asyncio.to_thread(add_case, path, preset, case_of(inputs, name, count))
    words = f"Added to the cases of “{preset}”. t in the preset editor opens them."
    if is_first:
        words += " They take the place of its samples."
    app.notify(words, markup=False)


def _words(count: int, whole: int) -> str:
    if not whole:
        return "this question"
    plural = "" if whole == 1 else "s"
    return f"this question and {count:,} of {whole:,} earlier message{plural}"


async def show_cases(app: TuiChat, _: str) -> None:
    """Open the view of the cases of the session's preset, as their file is now."""
    workspace = await app.main.opened_workspace()
    await app.run_action(f"inspector.show_view('{VIEW}')")
    await (await load_cases(workspace)).reread()
