"""`tui-chat ask` with several models: each replies to the same message, as versions in the session.

A model that fails, or calls a tool that nobody consents to, does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_chat.cli.ask_output import end_error, reply_json, reply_target, save_files, source_lines
from tui_chat.cli.output import write_error, write_json, write_line
from tui_chat.cli.tool_consent import answer_call
from tui_chat.cli.workspace import STORING_SECONDS, Choices, choose
from tui_chat.errors import InputError, NeedsUser, TuiChatError
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.events import Failed, ReplyEnded
from tui_chat.workspace.target import Slot, Target

if TYPE_CHECKING:
    from tui_chat.cli.question import Question
    from tui_chat.compose import Composed
    from tui_chat.models.message import Part
    from tui_chat.models.session import Entry
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


async def ask_each(
    workspace: Workspace,
    question: Question,
    text: str,
    parts: tuple[Part, ...],
    check: Callable[[Composed, Question], None],
    check_json: Callable[[Entry], None],
) -> None:
    """Send a message to each model of a question, and print the replies. `check` refuses a request
    that must not be sent, `check_json` a reply that is not JSON where that was asked for. Raises
    the error that ended the first reply that failed.
    """
    targets = [_target(workspace, model, question.choices.endpoint) for model in question.models]
    first = targets[0]
    if workspace.state.session is None:  # the session has a model of its own, too
        await choose(workspace, Choices(endpoint=first.endpoint, model=first.model))
    slots = [Slot(target, workspace.state.entries) for target in targets]
    for slot in slots:
        check(workspace.requests.compose_for(slot, text, parts), question)
    errors: dict[str, TuiChatError] = {}
    faults: list[TuiChatError] = []
    unsaved: dict[str, Entry] = {}
    """Replies that could not be stored."""

    def follow(event: WorkspaceEvent) -> None:
        match event:
            case ReplyEnded(_, entry, error):
                if error is not None:
                    errors[entry.message.id] = error
                if entry.unsaved:
                    unsaved[entry.message.id] = entry
            case Failed(error):
                faults.append(error)
            case _:
                pass

    unsubscribe = workspace.subscribe(follow)
    replies = await workspace.replies.submit_to(slots, text, parts)
    if len(replies) < len(slots):
        await workspace.replies.stop()
        raise faults[0] if faults else InputError("The message could not be sent.")
    await workspace.tools.all_ended()
    if await workspace.unsaved_writes.written(STORING_SECONDS):
        unsaved.clear()
    entries = [
        unsaved.get(reply_id) or await _ended(workspace, question, target, reply_id, errors)
        for target, reply_id in zip(targets, replies, strict=True)
    ]
    unsubscribe()
    for entry in entries:
        if (end := end_error(entry)) is not None:
            errors.setdefault(entry.message.id, end)
    for entry in entries if question.schema is not None else ():
        try:
            check_json(entry)
        except InputError as error:
            errors.setdefault(entry.message.id, error)
    _print(workspace, question, targets, entries, errors)
    failed: list[TuiChatError] = []
    for target, entry in zip(targets, entries, strict=True):
        if (error := errors.get(entry.message.id)) is not None:
            error.args = (f"{one_line(_label(target))}: {error}",)
            failed.append(error)
    for error in failed[1:]:
        write_error(str(error), error.advice)
    if failed:
        raise failed[0]


def _target(workspace: Workspace, model: str, endpoint: str) -> Target:
    """Return the target that a model names; with `endpoint`, all are there. Raises InputError."""
    config = workspace.state.config
    if endpoint:
        return Target(config.endpoint_named(endpoint).name, model)
    target, name = config.endpoint_and_model(model, workspace.state.endpoint)
    return Target(target.name, name)


async def _ended(
    workspace: Workspace,
    question: Question,
    target: Target,
    reply_id: str,
    errors: dict[str, TuiChatError],
) -> Entry:
    """Return a model's last reply once its tools are answered, as far as somebody consents."""
    branches = workspace.active_store.branches
    while True:
        entries = await branches.path_to(reply_id, below=True)
        calls = workspace.state.calls_at_end(entries)
        reply = next(e for e in reversed(entries) if e.message.role == "assistant")
        if not calls:
            return reply
        write_line(f"{one_line(_label(target))}:", err=True)
        try:
            await answer_call(workspace, calls[0], question.allowed_tools)
        except NeedsUser as error:
            errors[reply.message.id] = error
            return reply
        await workspace.tools.all_ended()


def _label(target: Target) -> str:
    return f"{target.endpoint}/{target.model}"


def _print(
    workspace: Workspace,
    question: Question,
    targets: list[Target],
    entries: list[Entry],
    errors: dict[str, TuiChatError],
) -> None:
    """Print the replies, each under the name of its model, or as a list."""
    folder = question.save_to or (None if question.temporary else Path())
    listed: list[dict[str, Any]] = []
    for target, entry in zip(targets, entries, strict=True):
        files = save_files(entry.message, folder)
        error = errors.get(entry.message.id)
        if question.as_json:
            listed.append(reply_json(workspace, entry, files))
            if error is not None:
                listed[-1]["error"] = str(error)
        elif entry.message.content or error is None:
            output = reply_target(raw=False)
            output.write(f"## {one_line(_label(target))}\n\n{entry.message.content}\n\n")
            output.end()
        for line in (
            *source_lines(entry.message.semantics.references),
            *(f.sentence for f in files),
        ):
            write_line(line, err=True)
    if question.as_json:
        write_json(listed)
