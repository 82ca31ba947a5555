"""`tui-chat ask`: one message to a new or a stored session, and its reply on the standard output.

1. It drives the same workspace as the app, which shows the session at once.
2. The reply goes to the standard output: to a pipe as it is, to a terminal as Markdown or, with
   `--raw`, as text without harmful characters. All else goes to the standard error stream.
3. A tool call is run if the user consents on the terminal, with `--allow-tool` or by a grant. Else
   the call stays at the end of the session, where the app can answer it.
4. Ctrl+C and a closed output stop the reply; what has arrived is in the session.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_chat.cli.app import synchronous
from tui_chat.cli.ask_each import ask_each
from tui_chat.cli.ask_output import (
    ReplyPrinter,
    end_error,
    first_code_block,
    reply_json,
    save_files,
    session_words,
    source_lines,
)
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find_role
from tui_chat.cli.options import (
    FILE,
    TEXT,
    RequestCommand,
    attach_option,
    bare_option,
    continue_option,
    json_option,
    kind_option,
    model_option,
    preset_option,
    profile_option,
    request_endpoint,
    request_session,
    request_settings,
    role_option,
    schema_option,
    system_option,
)
from tui_chat.cli.output import write_json, write_line, write_notes, write_reply
from tui_chat.cli.question import (
    Question,
    read_message,
    read_part,
    read_system_message,
    request_choices,
    require_consistent,
    require_message,
)
from tui_chat.cli.tool_consent import answer_call
from tui_chat.cli.workspace import (
    STORING_SECONDS,
    Choices,
    choose,
    command_workspace,
    leave_pending_edits,
    load_tools,
    omit_screen_rules,
    open_session,
    send_only_conversation,
)
from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.envelope import Level
from tui_chat.models.generation import side_kind
from tui_chat.models.role import ROLE_FAULTS
from tui_chat.models.sanitize import one_line
from tui_chat.providers.discovery import list_models
from tui_chat.workspace.replies import continuation_in_words

if TYPE_CHECKING:
    from tui_chat.api import RequestKind
    from tui_chat.cli.workspace import Failures
    from tui_chat.compose import Composed
    from tui_chat.config import Config
    from tui_chat.models.message import Part
    from tui_chat.models.session import Entry
    from tui_chat.workspace.workspace import Workspace

_FORCED = ("over-budget", "nothing-to-send", "edited-body-invalid")
"""Codes of the errors in a request that keep it from being sent without `--force`."""


@click.command(cls=RequestCommand)
@click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT)
@continue_option
@request_session
@attach_option
@system_option
@role_option('The role of a new session; "" for none, also in a session that lost its own.')
@preset_option('A preset; "" for none.', "-t")
@profile_option('A profile; "" for none.')
@bare_option
@model_option(
    "The model, or ENDPOINT/MODEL; repeatable: each one replies. Without an endpoint at one that "
    "lists it.",
    "-m",
    "models",
    multiple=True,
)
@request_endpoint
@request_settings
@kind_option("What to generate. TEXT is the instruction of a kind that takes one.")
@schema_option
@click.option("-n", "--temporary", is_flag=True, help="Write nothing of it to disk.")
@click.option("--no-stream", "stream", flag_value=False, default=True, help="Don't stream.")
@click.option("--raw", is_flag=True, help="Text as it is: no Markdown, no line break at the end.")
@click.option("-x", "--extract", is_flag=True, help="Print only the first code block.")
@json_option("Print the reply and its facts as JSON.")
@click.option(
    "--save-to",
    type=FILE,
    metavar="FOLDER",
    help="Where pictures and files of the reply are saved; default: the current folder.",
)
@click.option(
    "--allow-tool",
    "allowed_tools",
    multiple=True,
    metavar="NAME",
    type=TEXT,
    help="Run this tool without asking; repeatable.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Send despite errors, such as a request that is too large.",
)
@click.pass_obj
def ask(common: CommonOptions, parameters: tuple[str, ...], **options: Any) -> None:
    """Send a message and print the reply.

    TEXT is the message. The standard input is added if it is a pipe, or for -. Endpoint, model,
    role, preset and tools are those of the options, else of the session that -s or -c names, else
    of the configuration; what was chosen last in the app does not matter. With nothing configured
    only the message is sent. Options apply to this message and, if it starts a session, to that
    session. `build` prints the same request.

    The reply goes to the standard output, as Markdown on a terminal; everything else, such as its
    sources, goes to the standard error stream. The rules for the screen that come with the program
    (of the preset “plain” and the role “Assistant”) are not sent unless you name them. Tools run
    after you agree on the terminal, or if --allow-tool names them. Ctrl+C stops the reply and keeps
    what arrived; if nothing could be sent, or was answered with an error, no session is stored.

    With several --model each gets the message, and their replies are printed one after the other.
    One that fails does not stop the others; the exit code is that of the first failure.

    \b
    Examples:
      tui-chat ask "Why is the sky blue?"
      tui-chat ask -c "And at sunset?"
      git diff | tui-chat ask -m gpt-5 --bare "Write a commit message"
      tui-chat ask "Why?" -m openai/gpt-5-mini -m anthropic/claude-haiku-4-5
      tui-chat ask -x "A shell script that counts words" > count.sh
      tui-chat ask "What is on this picture?" --attach photo.png
      tui-chat ask "Three fruits" --schema fruits.json --json
      tui-chat ask -c --kind continue

    \b
    Exit codes: 0 done, 2 wrong input, 3 no key, 4 unreachable, 5 refused by the provider,
    6 incomplete reply, 7 database, 8 a tool call needs you, 130 Ctrl+C, 141 output closed.
    """
    names = ("endpoint", "role", "preset", "profile")
    model = options["models"][0] if len(options["models"]) == 1 else ""
    chosen = {name: options.pop(name) for name in names}
    choices = Choices(model=model, settings=parameters, **chosen)
    question = Question(choices=choices, **options)
    text = read_message(question)
    parts = tuple(map(read_part, question.attachments))
    has_message = bool(text.strip() or parts)
    require_message(question, has_message=has_message)
    require_consistent(question, has_message=has_message)
    question = replace(question, choices=request_choices(question))
    _ask(common.config(), question, text, parts)


@synchronous
async def _ask(config: Config, question: Question, text: str, parts: tuple[Part, ...]) -> None:
    async with command_workspace(config, create=not question.temporary) as (workspace, failures):
        exchange = _AskedExchange(workspace, failures, question)
        await exchange.open_session()
        await exchange.run(text, parts)
        if side_kind(question.kind) is None and not question.asks_several:
            exchange.print_reply()


class _AskedExchange:
    """A message to a session, and its reply."""

    def __init__(self, workspace: Workspace, failures: Failures, question: Question) -> None:
        self._workspace = workspace
        self._failures = failures
        self._question = question
        is_shown = not (question.as_json or question.extract or question.asks_several)
        self._printer = ReplyPrinter(workspace, shown=is_shown, raw=question.raw)
        self._is_new = True
        """True if the session begins with this message."""

    async def open_session(self) -> None:
        """Open the question's session with the line's choices. Raises InputError and StoreError."""
        workspace, failures, question = self._workspace, self._failures, self._question
        if question.session or question.last:
            await open_session(workspace, failures, question.session)
        choices = question.choices
        if question.temporary:
            role = choices.role
            role_id = find_role(workspace.state.roles, role).role_id if role else role
            await workspace.sessions.new_temporary(role_id)
            failures.raise_first()
            choices = replace(choices, role=None)
        leave_pending_edits(workspace)
        await self._apply(choices)
        workspace.update(is_streamed=question.stream)
        workspace.subscribe(self._printer.follow)
        self._is_new = workspace.state.session is None

    async def _find_model(self) -> None:
        """Use the only model that the server has if none is chosen. Raises InputError if it has
        several, and says which; a server that lists none may still answer.
        """
        workspace = self._workspace
        state, endpoint = workspace.state, workspace.state.endpoint
        if state.effective_model or self._question.asks_several:
            return
        models: tuple[str, ...] = ()
        with suppress(TuiChatError):  # sending says what is wrong
            models = await list_models(endpoint, workspace.client)
        if len(models) > 1:
            some = ", ".join(map(one_line, models[:20]))
            raise InputError(
                f"No model is chosen, and {endpoint.name} has several.",
                advice=f"Choose one with --model: {some}{', …' if len(models) > 20 else ''}.",
            )
        if models:
            await choose(workspace, Choices(endpoint=endpoint.name, model=models[0]))

    async def _apply(self, choices: Choices) -> None:
        """Use what the command line chooses, for the requests of this process."""
        await choose(self._workspace, choices)
        omit_screen_rules(self._workspace, self._question.choices)
        if self._question.bare:
            send_only_conversation(self._workspace)

    async def run(self, text: str, parts: tuple[Part, ...]) -> None:
        """Send the message, run called tools, print the reply. Raises the error that ended it."""
        workspace, printer = self._workspace, self._printer
        try:
            if (side := side_kind(self._question.kind)) is not None:
                await self._find_model()
                await self._print_side_reply(side, text)
                return
            if not self._question.bare:
                await self._load_tools()
            await self._find_model()
            if self._question.asks_several:
                await self._add_system_message(text)
                await ask_each(workspace, self._question, text, parts, _check, check_json)
                return
            if self._question.kind == "normal":
                await self._send(text, parts)
            else:
                await self._generate()
            await self._until_ended()
            while calls := workspace.state.pending_calls:
                if workspace.state.entries[-1].unsaved:
                    break  # nobody could answer them later
                await answer_call(workspace, calls[0], self._question.allowed_tools)
                self._failures.raise_first()
                await self._until_ended()
        except TuiChatError:
            if self._is_new and not printer.may_have_been_taken:
                await self._forget_session()
            raise
        except asyncio.CancelledError:  # Ctrl+C
            await workspace.replies.stop_all(for_good=True)
            printer.end()
            is_stored = not self._question.temporary
            where = f" What arrived is in {session_words(workspace)}." if is_stored else ""
            write_line(f"Stopped.{where}", err=True)
            raise
        finally:
            printer.end()

    async def _load_tools(self) -> None:
        """Ask the sources of tools for theirs. Raises InputError if an allowed one is not there."""
        await load_tools(self._workspace)
        self._failures.warn()
        names = [tool.name for tool in self._workspace.state.tools]
        for allowed in self._question.allowed_tools:
            if allowed not in names:
                there = f"Offered are {', '.join(names)}." if names else "This session offers none."
                raise InputError(f"--allow-tool: there is no tool “{allowed}”.", advice=there)

    async def _send(self, text: str, parts: tuple[Part, ...]) -> None:
        workspace = self._workspace
        _check(workspace.requests.compose(text, parts=parts), self._question)
        await self._add_system_message(text)
        if not await workspace.replies.submit(text, parts):
            self._failures.raise_first()
            raise InputError("The message could not be sent.", advice="Try again.")

    async def _add_system_message(self, text: str) -> None:
        """Add the system message of `--system`; the session begins with it for the message."""
        workspace, question = self._workspace, self._question
        system = read_system_message(question)
        if system:
            await workspace.branches.add_system_message(system, title=text)
            self._failures.raise_first()
            # The session was read again, and with it what it has stored.
            role = "" if workspace.state.role_fault else None
            await self._apply(replace(question.choices, role=role))

    async def _generate(self) -> None:
        """Continue the last reply, or generate it again. Raises InputError if there is none."""
        workspace, kind = self._workspace, self._question.kind
        composed = workspace.requests.compose_kind(kind)
        _check(composed, self._question)
        entries = workspace.state.entries
        if kind == "continue":
            is_sent = await workspace.replies.continue_reply(entries[-1].message.id)
            write_line(continuation_in_words(composed), err=True)
        else:
            messages = [e.message for e in entries if e.message.semantics.summary is None]
            is_sent = await workspace.replies.regenerate(
                messages[-1].id, "swipe" if kind == "swipe" else "regenerate"
            )
        if not is_sent:
            self._failures.raise_first()
            raise InputError("The request could not be sent.", advice="Try again.")

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
        await self._workspace.unsaved_writes.written(STORING_SECONDS)
        self._failures.warn()
        printer.raise_error()

    async def _forget_session(self) -> None:
        """Remove the new session, of which no provider took anything."""
        session = self._workspace.state.session
        if session is not None and not self._workspace.state.is_temporary:
            await self._workspace.tools.all_ended()
            await self._workspace.store.sessions.remove(session.session_id)

    async def _print_side_reply(self, kind: RequestKind, prompt: str) -> None:
        """Print a text that is no message of the session. Raises the error that ended it."""
        question, workspace = self._question, self._workspace
        composed = workspace.requests.compose_kind(kind.name, prompt)
        _check(composed, question)
        text = await workspace.side_requests.generate(
            kind.name, composed, lambda text: None, for_user=kind.writes_for_user
        )
        self._failures.raise_first()
        if question.as_json:
            write_json({"kind": kind.name, "model": composed.model, "content": text})
        elif question.extract:
            _print_code(text)
        else:
            self._printer.write(text)

    def print_reply(self) -> None:
        """Save the files of the reply, and print what was not printed while it arrived. Raises
        ReplyCut if it is empty or ended early, InputError if it is not the JSON that was asked for.
        """
        question, entry = self._question, self._workspace.state.entries[-1]
        message = entry.message
        files = save_files(message, question.save_to or (None if question.temporary else Path()))
        if question.as_json:
            write_json(reply_json(self._workspace, entry, files))
        elif question.extract:
            _print_code(message.content)
        for line in (*source_lines(message.semantics.references), *(f.sentence for f in files)):
            write_line(line, err=True)
        self._printer.summarize()
        if (error := end_error(entry)) is not None:
            raise error
        if question.schema is not None:
            check_json(entry)


def _check(composed: Composed, question: Question) -> None:
    """Print the warnings of a request. Raises InputError for an error that prevents sending it."""
    for note in composed.notes:
        if note.code in ROLE_FAULTS:
            advice = (
                'Nothing was sent. `--role ""` continues without it, /roles in the app enables it.'
            )
            raise InputError(note.sentence, advice=advice)
        if note.level is Level.ERROR and note.code in _FORCED and not question.force:
            raise InputError(note.sentence, advice="Nothing was sent; --force sends it.")
    write_notes(note for note in composed.notes if note.level is not Level.INFO)


def _print_code(text: str) -> None:
    """Print the first code block of a reply; the whole reply if it has none."""
    code = first_code_block(text)
    if code is None:
        write_line("warning: The reply has no code block.", err=True)
    code = text if code is None else code
    write_reply(code if code.endswith("\n") else f"{code}\n")


def check_json(entry: Entry) -> None:
    """Raise InputError if a reply is not JSON."""
    try:
        json.loads(entry.message.content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The reply is not JSON: {error}.",
            advice="The model or its server may not support schemas.",
        ) from error
