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
from tui_chat.cli.workspace import choose_model, save_replies
from tui_chat.errors import InputError, NeedsUser, TuiChatError
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.events import Failed, ReplySettled
from tui_chat.workspace.exchange import Slot, Target

if TYPE_CHECKING:
    from tui_chat.cli.documents import ReplyDocument
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
    ends: dict[str, ReplySettled] = {}
    faults: list[TuiChatError] = []

    def follow(event: WorkspaceEvent) -> None:
        if isinstance(event, ReplySettled) and event.entry is not None:
            ends[event.entry.message.id] = event
        elif isinstance(event, Failed):
            faults.append(event.error)

    workspace.subscribe(follow)
    replies = await workspace.replies.submit_to(slots, text, parts)
    if len(replies) < len(slots):
        await workspace.replies.stop()
        raise faults[0] if faults else InputError("The message could not be sent.")
    await workspace.tools.all_ended()
    await save_replies(workspace)
    ended: list[tuple[str, Entry, TuiChatError | None]] = []
    for target, reply_id in zip(targets, replies, strict=True):
        label, error = one_line(f"{target.endpoint}/{target.model}"), None
        end, entry = ends.get(reply_id), workspace.state.unsaved_replies.get(reply_id)
        if entry is None:
            entry, error = await _answered(workspace, question, label, reply_id)
        end = ends.get(entry.message.id)
        ended.append((label, entry, error or (end and end.error) or _fault(question, entry)))
    _print(workspace, question, ended)
    failed = [(label, error) for label, _, error in ended if error is not None]
    for label, error in failed:
        error.args = (f"{label}: {error}",)
    for _, error in failed[1:]:
        write_error(str(error), error.advice)
    if failed:
        raise failed[0][1]


def _target(workspace: Workspace, model: str, endpoint: str) -> Target:
    """Return the target that a model names; with `endpoint`, all are there. Raises InputError."""
    config = workspace.state.config
    if endpoint:
        return Target(config.endpoint_named(endpoint).name, model)
    target, name = config.endpoint_and_model(model, workspace.state.endpoint)
    return Target(target.name, name)


async def _answered(
    workspace: Workspace, question: AskOptions, label: str, reply_id: str
) -> tuple[Entry, TuiChatError | None]:
    """Return a model's last reply once its tools are answered, as far as somebody consents."""
    while True:
        entries = await workspace.active_store.branches.path_to(reply_id, below=True)
        calls = workspace.state.calls_at_end(entries)
        reply = next(e for e in reversed(entries) if e.message.role == "assistant")
        if not calls:
            return reply, None
        write_line(f"{label}:", err=True)
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
    ended: Sequence[tuple[str, Entry, TuiChatError | None]],
) -> None:
    """Print the replies, each under the name of its model, or as a list."""
    documents: list[ReplyDocument] = []
    for label, entry, error in ended:
        files = save_files(entry.message, question.folder)
        if question.as_json:
            documents.append(_document(workspace, entry, files, error))
        elif entry.message.content or error is None:
            output = reply_target(raw=False)
            output.write(f"## {label}\n\n{entry.message.content}\n\n")
            output.end()
        write_sources(entry.message, files)
    if question.as_json:
        write_document(documents)


def _document(
    workspace: Workspace, entry: Entry, files: Sequence[SavedFile], error: TuiChatError | None
) -> ReplyDocument:
    from tui_chat.cli.documents import reply_document

    return reply_document(workspace, entry, files, str(error or ""))
