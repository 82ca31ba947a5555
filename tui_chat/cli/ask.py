"""`tui-chat ask`: one message to a new or a stored session, and its reply on the standard output.

1. It drives the same workspace as the app, which shows the session at once.
2. The reply goes to the standard output: to a pipe as it is, to a terminal without harmful
   characters. All else goes to the standard error stream.
3. A tool call is run if `--allow-tool` names the tool, or by a grant. Else the call stays at the
   end of the session, where the app can answer it.
4. Ctrl+C and a closed output stop the reply; what has arrived is in the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_chat.cli import output
from tui_chat.cli.app import synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import SHORT_ID, find_role
from tui_chat.cli.options import FILE, TEXT, option, takes
from tui_chat.cli.output import OutputClosed, write_json, write_line, write_notes, write_reply
from tui_chat.cli.question import (
    Question,
    completed,
    read_message,
    read_part,
    refuse,
    require_consistent,
)
from tui_chat.cli.workspace import (
    choose,
    choose_model,
    command_workspace,
    leave_pending_edits,
    load_tools,
    open_session,
    save_replies,
)
from tui_chat.errors import (
    InputError,
    NeedsUser,
    Refused,
    ReplyCut,
    TuiChatError,
    Unreachable,
)
from tui_chat.files import write_new_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.envelope import Level
from tui_chat.models.media import describe, file_of
from tui_chat.models.message import Message
from tui_chat.models.reply_end import end_sentence, ended_early
from tui_chat.models.role import ROLE_FAULTS
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.providers.discovery import list_models
from tui_chat.workspace.events import ReplyGrew, ReplyRetrying, ReplySettled

if TYPE_CHECKING:
    from tui_chat.cli.workspace import Failures
    from tui_chat.compose import Composed
    from tui_chat.config import Config
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.state import PendingToolCall
    from tui_chat.workspace.workspace import Workspace

_FORCED = ("over-budget", "nothing-to-send", "edited-body-invalid")
"""Codes of the errors in a request that keep it from being sent without `--force`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(Question):
    """A question, and how its reply is printed."""

    temporary: bool = option("-n", "--temporary", is_flag=True, help="Write nothing of it to disk.")
    raw: bool = option(is_flag=True, help="Add no line break at the end.")
    extract: bool = option("-x", "--extract", is_flag=True, help="Print only the first code block.")
    as_json: bool = option("--json", is_flag=True, help="Print the reply and its facts as JSON.")
    save_to: Path | None = option(
        type=FILE,
        metavar="FOLDER",
        help="Where pictures and files of the reply are saved; default: the current folder.",
    )
    allowed_tools: tuple[str, ...] = option(
        "--allow-tool",
        multiple=True,
        metavar="NAME",
        type=TEXT,
        help="Run this tool without asking; repeatable.",
    )
    force: bool = option(
        is_flag=True, help="Send despite errors, such as a request that is too large."
    )

    @property
    def folder(self) -> Path | None:
        """The folder for the files of the reply; None if they are not to be saved."""
        return self.save_to or (None if self.temporary else Path())


@click.command()
@takes(AskOptions)
@click.pass_obj
def ask(common: CommonOptions, options: AskOptions) -> None:
    """Send a message and print the reply.

    TEXT is the message. The standard input is added if it is a pipe, or for -. Endpoint, model,
    role, preset and tools are those of the options, else of the session that -s or -c names, else
    of the configuration; what was chosen last in the app does not matter. With nothing configured
    only the message is sent. Options apply to this message and, if it starts a session, to that
    session. `build` prints the same request.

    The reply goes to the standard output; everything else, such as its sources, goes to the
    standard error stream. The rules for the screen that come with the program (of the preset
    “plain” and the role “Assistant”) are not sent unless you name them. Tools run if --allow-tool
    names them, or if you have allowed them in the app. Ctrl+C stops the reply and keeps what
    arrived; if nothing could be sent, or was answered with an error, no session is stored.

    \b
    Examples:
      tui-chat ask "Why is the sky blue?"
      tui-chat ask -c "And at sunset?"
      git diff | tui-chat ask -m gpt-5 --bare "Write a commit message"
      tui-chat ask -x "A shell script that counts words" > count.sh
      tui-chat ask "What is on this picture?" --attach photo.png
      tui-chat ask "Three fruits" --schema fruits.json --json

    \b
    Exit codes: 0 done, 2 wrong input, 3 no key, 4 unreachable, 5 refused by the provider,
    6 incomplete reply, 7 database, 8 a tool call needs you, 130 Ctrl+C, 141 output closed.
    """
    question = options
    text = read_message(question)
    parts = tuple(map(read_part, question.attachments))
    refuse(
        (
            not (text.strip() or parts),
            "There is no message to send.",
            "Write it after `ask`, or pipe it: `echo Hello | tui-chat ask`.",
        ),
        (
            question.extract and (question.as_json or question.raw),
            "--extract prints a code block.",
            "Omit --json and --raw.",
        ),
        (
            question.temporary and question.has_session,
            "A stored session cannot be temporary.",
            "Omit --temporary.",
        ),
    )
    require_consistent(question)
    _ask(common.config(), completed(question), text, parts)


@synchronous
async def _ask(
    config: Config, question: AskOptions, text: str, parts: tuple[MediaBlock, ...]
) -> None:
    async with command_workspace(config, create=not question.temporary) as (workspace, failures):
        asked = _Asked(workspace, failures, question)
        await asked.open_session()
        await asked.run(text, parts)


class _Asked:
    """A message to a session, and its reply."""

    def __init__(self, workspace: Workspace, failures: Failures, question: AskOptions) -> None:
        self._workspace = workspace
        self._failures = failures
        self._question = question
        is_shown = not (question.as_json or question.extract)
        self._printer = ReplyPrinter(workspace, shown=is_shown, exact_end=question.raw)
        self._is_new = True
        """True if the session begins with this message."""

    async def open_session(self) -> None:
        """Open the question's session with the line's choices. Raises InputError and StoreError."""
        workspace, question = self._workspace, self._question
        await open_session(workspace, self._failures, question)
        role = question.role
        if question.temporary:
            role_id = find_role(workspace.state.roles, role).role_id if role else role
            await workspace.sessions.new_temporary(role_id)
            self._failures.raise_first()
            role = None
        leave_pending_edits(workspace)
        await choose(workspace, question, role)
        workspace.update(is_streamed=question.stream)
        workspace.subscribe(self._printer.follow)
        self._is_new = workspace.state.session is None

    async def run(self, text: str, parts: tuple[MediaBlock, ...]) -> None:
        """Send the message, run called tools, print the reply. Raises the error that ended it."""
        workspace, printer, question = self._workspace, self._printer, self._question
        try:
            if not question.bare:
                await self._load_tools()
            await self._find_model()
            await self._send(text, parts)
            await self._answer_calls()
        except TuiChatError:
            if self._is_new and not printer.may_have_been_taken:
                await self._forget_session()
            raise
        except asyncio.CancelledError:  # Ctrl+C
            await workspace.replies.stop_all(for_good=True)
            printer.end()
            where = f" What arrived is in {session_words(workspace)}."
            write_line(f"Stopped.{'' if question.temporary else where}", err=True)
            raise
        finally:
            printer.end()
        self._print_reply()

    async def _load_tools(self) -> None:
        """Ask the sources of tools for theirs. Raises InputError if an allowed one is not there."""
        await load_tools(self._workspace)
        self._failures.warn()
        names = [tool.name for tool in self._workspace.state.tools]
        for allowed in self._question.allowed_tools:
            if allowed not in names:
                there = f"Offered are {', '.join(names)}." if names else "This session offers none."
                raise InputError(f"--allow-tool: there is no tool “{allowed}”.", advice=there)

    async def _find_model(self) -> None:
        """Use the only model that the server has if none is chosen. Raises InputError if it has
        several, and says which; a server that lists none may still answer.
        """
        state, endpoint = self._workspace.state, self._workspace.state.endpoint
        if state.effective_model:
            return
        models: tuple[str, ...] = ()
        with suppress(TuiChatError):  # sending says what is wrong
            models = await list_models(endpoint, self._workspace.client)
        if len(models) > 1:
            some = ", ".join(map(one_line, models[:20]))
            raise InputError(
                f"No model is chosen, and {endpoint.name} has several.",
                advice=f"Choose one with --model: {some}{', …' if len(models) > 20 else ''}.",
            )
        if models:
            choose_model(self._workspace, endpoint.name, models[0])

    async def _send(self, text: str, parts: tuple[MediaBlock, ...]) -> None:
        """Send the message."""
        workspace = self._workspace
        check_request(workspace.requests.compose(text, parts=parts), self._question)
        await self._add_system_message(text)
        is_sent = await workspace.replies.submit(text, parts)
        if not is_sent:
            self._failures.raise_first()
            raise InputError("The request could not be sent.", advice="Try again.")

    async def _add_system_message(self, text: str) -> None:
        """Add the message of `--system`, with which the session begins."""
        workspace, question = self._workspace, self._question
        if question.system:
            await workspace.branches.add_system_message(question.system, title=text)
            self._failures.raise_first()
            # The session was read again, and with it what it has stored.
            await choose(workspace, question, "" if workspace.state.role_fault else None)

    async def _answer_calls(self) -> None:
        """Run the tools that are called until the reply has ended."""
        await self._until_ended()
        state = self._workspace.state
        while (calls := state.pending_calls) and not state.entries[-1].unsaved:
            await self._run_tool(calls[0])
            self._failures.raise_first()
            await self._until_ended()
            state = self._workspace.state

    async def _run_tool(self, call: PendingToolCall) -> None:
        """Run the tool that is called. Raises NeedsUser if it is not allowed or has no command."""
        name, workspace = one_line(call.call.name), self._workspace
        where = f"It waits in {session_words(workspace)}; answer it in the app."
        if workspace.state.is_temporary:
            where = "Without --temporary it would wait in a session for the app."
        if not call.can_run:
            raise NeedsUser(f"The model calls “{name}”, which has no command.", advice=where)
        if call.call.name not in self._question.allowed_tools:
            advice = f"{where} Or --allow-tool {name} lets it run."
            raise NeedsUser(f"The model calls the tool “{name}”.", advice=advice)
        await workspace.tools.run(call.entry_id, call.index)

    async def _until_ended(self) -> None:
        """Wait for the replies' end. Raises the last one's error, OutputClosed and OSError."""
        printer = self._printer
        ended = asyncio.ensure_future(self._workspace.tools.all_ended())
        try:
            await asyncio.wait((ended, printer.failed), return_when=asyncio.FIRST_COMPLETED)
            if printer.failed.done():
                await self._workspace.replies.stop_all(for_good=True)
                printer.failed.result()
        finally:
            ended.cancel()
        await save_replies(self._workspace)
        self._failures.warn()
        printer.raise_error()

    async def _forget_session(self) -> None:
        """Remove the new session, of which no provider took anything."""
        session = self._workspace.state.session
        if session is not None and not self._workspace.state.is_temporary:
            await self._workspace.tools.all_ended()
            await self._workspace.store.sessions.remove(session.session_id)

    def _print_reply(self) -> None:
        """Save the files of the reply, and print what was not printed while it arrived. Raises
        ReplyCut if it is empty or ended early.
        """
        question, entry = self._question, self._workspace.state.entries[-1]
        files = save_files(entry.message, question.folder)
        if question.as_json:
            from tui_chat.cli.documents import reply_document  # with pydantic

            write_json(reply_document(self._workspace, entry, files))
        elif question.extract:
            write_code(entry.message.content)
        write_sources(entry.message, files)
        self._printer.summarize()
        if ended_early(entry):
            raise ReplyCut(end_sentence(entry))


def check_request(composed: Composed, question: AskOptions) -> None:
    """Print the warnings of a request. Raises InputError for an error that prevents sending it."""
    for note in composed.notes:
        if note.code in ROLE_FAULTS:
            advice = '`--role ""` continues without it, /roles in the app enables it.'
            raise InputError(note.sentence, advice=f"Nothing was sent. {advice}")
        if note.level is Level.ERROR and note.code in _FORCED and not question.force:
            raise InputError(note.sentence, advice="Nothing was sent; --force sends it.")
    write_notes(note for note in composed.notes if note.level is not Level.INFO)


# The reply on the standard output, narration on the error stream


class ReplyPrinter:
    """Prints replies while they arrive."""

    def __init__(self, workspace: Workspace, *, shown: bool, exact_end: bool) -> None:
        """`shown` is False if the reply is printed in another way when it has ended, `exact_end`
        True to add no line break at its end.
        """
        self._workspace = workspace
        self.may_have_been_taken = False
        """False as long as no request can have left, or each was answered with an error status."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Has the exception of the output as soon as it cannot be written to."""
        self._shown, self._exact_end = shown, exact_end
        self._reply: str = ""
        """The id of the reply that is being printed."""
        self._length = 0
        """Characters of it that are printed."""
        self._last = ""
        """The last character that was printed."""
        self._error: TuiChatError | None = None

    def follow(self, event: WorkspaceEvent) -> None:
        """Print what has arrived."""
        if self.failed.done():
            return
        try:
            match event:
                case ReplyGrew():
                    self._begin(event.grown.entry_id)
                    if event.grown.reply.length > self._length:
                        self._write(event.grown.reply.text)
                case ReplyRetrying(waiting):
                    self._note_sent(waiting.why)
                    when = f"in {waiting.seconds:.0f} s" if waiting.seconds >= 0.5 else "at once"
                    words = f"Trying again {when} ({waiting.why})"
                    write_line(f"{words}, attempt {waiting.attempt}.", err=True)
                case ReplySettled(entry=Entry() as entry):
                    self._end_reply(entry, event.error)
                case _:
                    pass
        except (OutputClosed, OSError) as error:
            self.failed.set_exception(error)

    def _note_sent(self, error: TuiChatError | None) -> None:
        """Note that a request ended so, or has a reply."""
        match error:
            case Unreachable():
                is_taken = error.sent
            case Refused(status=int(status)):
                is_taken = status < HTTPStatus.BAD_REQUEST
            case _:
                is_taken = not isinstance(error, InputError)
        self.may_have_been_taken |= is_taken

    def _begin(self, entry_id: str) -> None:
        if entry_id != self._reply:
            if self._length:
                self._end_text()
            self._reply, self._length = entry_id, 0

    def _write(self, text: str) -> None:
        """Print what is new at the end of a text. Raises OutputClosed, OSError."""
        new, self._length = text[self._length :], len(text)
        self._last = new[-1:] or self._last
        if self._shown:
            write_reply(new)

    def _end_text(self) -> None:
        is_exact = self._exact_end and not output.is_terminal()
        if self._shown and self._last != "\n" and not is_exact:
            write_reply("\n")

    def _end_reply(self, entry: Entry, error: TuiChatError | None) -> None:
        message = entry.message
        self._begin(message.id)
        if len(message.content) > self._length:
            self._write(message.content)
        self._error = error
        self._note_sent(error)
        if (sentence := end_sentence(entry)) and not ended_early(entry):
            write_line(f"warning: {sentence}", err=True)

    def raise_error(self) -> None:
        """Raise the error of the last reply, if it failed."""
        if self._error is not None:
            self.end()
            raise self._error

    def end(self) -> None:
        """Finish the output."""
        if not self.failed.done() and self._length:
            self._length = 0
            self._end_text()

    def summarize(self) -> None:
        """Print model, duration, tokens and session, if somebody sees it."""
        if not output.is_terminal(err=True):
            return
        entry = self._workspace.state.entries[-1]
        usage, cost = entry.usage, self._workspace.replies.timing(entry).cost
        words = (
            f"{entry.model} at {entry.endpoint}",
            "" if entry.seconds is None else f"{entry.seconds:.1f} s",
            "" if usage.input is None else f"{usage.input:,} tokens in",
            "" if usage.output is None else f"{usage.output:,} out",
            f"${cost:.4f}" if cost else "",
            session_words(self._workspace),
        )
        write_line(" · ".join(map(one_line, filter(None, words))), err=True)


def session_words(workspace: Workspace) -> str:
    """Return which session the reply is in, for a line of narration."""
    state = workspace.state
    if state.is_temporary:
        return "not stored"
    return f"session {state.session_id[:SHORT_ID]}"


# Sources, files and code


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A picture, sound or file of a reply."""

    part: MediaBlock
    path: Path | None
    """Its file; None if it was not saved."""
    why: str = ""
    """The reason why it was not saved, as the end of a sentence."""

    @property
    def sentence(self) -> str:
        """Say where it is, or why it is nowhere."""
        what = f"{self.part.media} ({one_line(describe(self.part), 120) or 'of unknown type'})"
        if self.path is not None:
            return f"Saved the {what} to {self.path}."
        if self.part.url:
            return f"The {what} is at {one_line(self.part.url, 2000)}."
        return f"The {what} was not saved: {self.why}"


def save_files(message: Message, folder: Path | None) -> list[SavedFile]:
    """Write a reply's pictures and files to a folder, if any, without overwriting anything."""
    return [_save(message, number, folder) for number in range(1, len(message.parts) + 1)]


def _save(message: Message, number: int, folder: Path | None) -> SavedFile:
    part = message.parts[number - 1]
    if (file := file_of(part, number)) is None:
        return SavedFile(part, None, "the reply has no content of it.")
    if folder is None:
        return SavedFile(part, None, "of a temporary session nothing is, without --save-to.")
    name, content = file
    try:
        return SavedFile(part, write_new_file(folder / f"{message.id[:12]}-{name}", content))
    except InputError as error:
        return SavedFile(part, None, str(error))


def write_sources(message: Message, files: Sequence[SavedFile]) -> None:
    """Print the sources of a reply, and where its files are."""
    for number, source in enumerate(message.about.references.sources, 1):
        place = source.url or (source.file if source.title else "")
        line = f"[{number}] {source.label}{f' · {place}' if place else ''}"
        write_line(one_line(line, 5000), err=True)
    for file in files:
        write_line(one_line(file.sentence, 5000), err=True)


def write_code(markdown: str) -> None:
    """Print the first fenced code block of a reply; the whole reply if it has none."""
    from markdown_it import MarkdownIt  # only needed here

    tokens = MarkdownIt("commonmark").parse(markdown)
    code = next((token.content for token in tokens if token.type == "fence"), None)
    if code is None:
        write_line("warning: The reply has no code block.", err=True)
        code = markdown
    write_reply(code if code.endswith("\n") else f"{code}\n")
