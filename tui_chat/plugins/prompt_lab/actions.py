"""The actions of the app: a turn becomes a case, the view of cases is opened, and earlier states of
a preset are compared as requests and restored as an edit.

A case has the text of the conversation, so it gets the shortest history that keeps it: the last
exchange, and as much before it as the same preset messages and lore entries need to be sent.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.context.sent_texts import split_turns
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, last_reply
from tui_chat.models.text import OriginKind
from tui_chat.plugins.prompt_lab.case_list import load_cases
from tui_chat.plugins.prompt_lab.preset_states import PresetStates, with_changes
from tui_chat.plugins.prompt_lab.suites import add_case, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import NO_ENDPOINT, NO_PRESET, Case
from tui_chat.ui.inspector.views import DIFF
from tui_chat.ui.questions import ask, ask_line
from tui_chat.workspace.state import DiffBase

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

_MOST_TRIES = 12
"""Lengths of the history that are tried before the whole of it is taken."""


def case_of(inputs: Inputs, name: str, messages: int) -> Case:
    """Return a request as a case, with so many of the newest messages of its history. Without a
    name it has that of its question.
    """
    kept = replace(
        inputs,
        endpoint=NO_ENDPOINT,
        preset=NO_PRESET,
        history=inputs.history[len(inputs.history) - messages :],
        edits=(),
    )
    name = name.strip() or one_line(inputs.draft, 60) or "case"
    return Case(name, name, kept)


def shortest_history(inputs: Inputs) -> int:
    """Return how many of the newest messages a case needs."""
    surroundings, history = _surroundings(inputs), inputs.history
    begin_with_user = (n for n in range(1, len(history)) if history[-n].role == "user")
    for count in islice(begin_with_user, _MOST_TRIES):
        if _surroundings(replace(inputs, history=history[-count:])) == surroundings:
            return count
    return len(history)


def _surroundings(inputs: Inputs) -> list[tuple[str, str]]:
    """Return what a request has besides its conversation."""
    turns = split_turns(compose(inputs).envelope.turns)
    conversation = (OriginKind.HISTORY, OriginKind.DRAFT)
    return [(turn.role, turn.text.plain) for turn in turns if turn.origin.kind not in conversation]


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


async def choose_state(app: TuiChat, _: str) -> None:
    """List the states of the session's preset, and compare with or restore the chosen one."""
    workspace = await app.main.opened_workspace()
    name = workspace.state.preset_name
    states = await PresetStates.open(workspace.store)
    rows = await with_changes(states, await states.of_preset(name))
    if not rows:
        raise InputError(
            f"No earlier state of “{name}” is kept yet.", advice="Saving it keeps one."
        )
    choices = [(str(place), state.time, change) for place, (state, _, change) in enumerate(rows)]
    chosen = await ask(app, f"Saved states of “{one_line(name, 60)}”", choices, "0")
    if chosen is None:
        return
    state, preset, _ = rows[int(chosen)]
    what = (
        ("compare", "Compare the requests", "with this state, in the Diff view"),
        ("restore", "Restore", "as an edit; undo brings the present back"),
    )
    match await ask(app, f"The state of {state.time}", what):
        case "compare":
            if workspace.state.request.viewed is not None:
                workspace.requests.return_to_live()
            base = DiffBase("state", f"the state of {state.time}", preset=preset)
            workspace.requests.compare_with(base)
            await app.run_action(f"inspector.show_view('{DIFF}')")
        case "restore":
            edits = workspace.state.preset_edits
            if edits is None:
                raise InputError(f"The file of “{name}” has faults.", advice="Fix it first.")
            words = f"restore the state of {state.time}"
            workspace.presets.edit(name, edits.record(preset, words))
            app.notify(
                f"Restored the state of {state.time}, unsaved. Undo brings back what was there."
            )
        case _:
            pass
