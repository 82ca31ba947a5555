"""`tui-chat ask` with several models: each replies to the same message, as versions in the session.

A model that fails, or calls a tool that nobody consents to, does not stop the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_chat.cli.ask import AskOptions, check_json, check_request
from tui_chat.cli.ask_output import SavedFile, end_error, reply_target, save_files, write_sources
from tui_chat.cli.output import write_document, write_error, write_line
from tui_chat.cli.tool_consent import answer_call
from tui_chat.cli.workspace import STORING_SECONDS, choose_model
from tui_chat.errors import InputError, NeedsUser, TuiChatError
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.events import Failed, ReplyEnded
from tui_chat.workspace.target import Slot, Target

if TYPE_CHECKING:
    from tui_chat.models.message import Part
    from tui_chat.models.session import Entry
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


async def ask_each(
    workspace: Workspace, question: AskOptions, text: str, parts: tuple[Part, ...]
) -> None:
    """Send a message to each model of a question, and print the replies. Raises the error that
    ended the first reply that failed.
    """
    targets = [_target(workspace, model, question.endpoint) for model in question.models]
    if workspace.state.session is None:  # the session has a model of its own, too
        choose_model(workspace, targets[0].endpoint, targets[0].model)
    slots = [Slot(target, workspace.state.entries) for target in targets]
    for slot in slots:
        check_request(workspace.requests.compose_for(slot, text, parts), question)
    ends: dict[str, ReplyEnded] = {}
    faults: list[TuiChatError] = []

    def follow(event: WorkspaceEvent) -> None:
        if isinstance(event, ReplyEnded):
            ends[event.entry.message.id] = event
        elif isinstance(event, Failed):
            faults.append(event.error)

    unsubscribe = workspace.subscribe(follow)
    replies = await workspace.replies.submit_to(slots, text, parts)
    if len(replies) < len(slots):
        await workspace.replies.stop()
        raise faults[0] if faults else InputError("The message could not be sent.")
    await workspace.tools.all_ended()
    is_stored = await workspace.unsaved_writes.written(STORING_SECONDS)
    printed: list[tuple[Entry, TuiChatError | None]] = []
    for target, reply_id in zip(targets, replies, strict=True):
        end, error = ends.get(reply_id), None
        if end is not None and end.entry.unsaved and not is_stored:
            entry = end.entry
        else:
            entry, error = await _answered(workspace, question, target, reply_id)
        end = ends.get(entry.message.id)
        printed.append((entry, error or (end and end.error) or _fault(question, entry)))
    unsubscribe()
    _print(workspace, question, targets, printed)
    failed: list[TuiChatError] = []
    for target, (_, error) in zip(targets, printed, strict=True):
        if error is not None:
            error.args = (f"{_label(target)}: {error}",)
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


def _label(target: Target) -> str:
    return one_line(f"{target.endpoint}/{target.model}")


async def _answered(
    workspace: Workspace, question: AskOptions, target: Target, reply_id: str
) -> tuple[Entry, TuiChatError | None]:
    """Return a model's last reply once its tools are answered, as far as somebody consents."""
    while True:
        entries = await workspace.active_store.branches.path_to(reply_id, below=True)
        calls = workspace.state.calls_at_end(entries)
        reply = next(e for e in reversed(entries) if e.message.role == "assistant")
        if not calls:
            return reply, None
        write_line(f"{_label(target)}:", err=True)
        try:
            await answer_call(workspace, calls[0], question.allowed_tools)
        except NeedsUser as error:
            return reply, error
        await workspace.tools.all_ended()


def _fault(question: AskOptions, entry: Entry) -> TuiChatError | None:
    """Return what is wrong with a complete reply: it is empty, cut, or not JSON."""
    if (error := end_error(entry)) is not None or question.schema is None:
        return error
    try:
        check_json(entry)
    except InputError as error:
        return error
    return None


def _print(
    workspace: Workspace,
    question: AskOptions,
    targets: Sequence[Target],
    printed: Sequence[tuple[Entry, TuiChatError | None]],
) -> None:
    """Print the replies, each under the name of its model, or as a list."""
    saved: list[list[SavedFile]] = []
    for target, (entry, error) in zip(targets, printed, strict=True):
        saved.append(save_files(entry.message, question.folder))
        if not question.as_json and (entry.message.content or error is None):
            output = reply_target(raw=False)
            output.write(f"## {_label(target)}\n\n{entry.message.content}\n\n")
            output.end()
        write_sources(entry.message, saved[-1])
    if question.as_json:
        from tui_chat.cli.documents import reply_document

        documents = [
            reply_document(workspace, entry, [file.document() for file in files], str(error or ""))
            for (entry, error), files in zip(printed, saved, strict=True)
        ]
        write_document(documents)
