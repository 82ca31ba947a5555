"""The output of `tui-chat ask`: the reply on the standard output, narration on the error stream.

Besides its text a reply has sources, pictures and other files, and blocks of code.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tui_chat.cli import output
from tui_chat.cli.names import shortened
from tui_chat.cli.output import OutputClosed, write_line, write_progress, write_reply, write_text
from tui_chat.errors import InputError, Refused, ReplyCut, Unreachable
from tui_chat.files import write_new_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import pack, plain
from tui_chat.models.citations import NO_REFERENCES, References
from tui_chat.models.media import describe, file_of
from tui_chat.models.message import Message, Part
from tui_chat.models.reply_end import end_sentence, ended_early, reply_reason
from tui_chat.models.sanitize import one_line
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.models.usage import usage_json
from tui_chat.workspace.events import ReplyEnded, ReplyGrew, ReplyRetrying

if TYPE_CHECKING:
    from tui_chat.cli.markdown_output import MarkdownOutput
    from tui_chat.errors import TuiChatError
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.send import PartialReply
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


class ReplyPrinter:
    """Prints replies while they arrive."""

    def __init__(self, workspace: Workspace, *, shown: bool, raw: bool) -> None:
        """`shown` is False if the reply is printed in another way when it has ended."""
        self._workspace = workspace
        self.may_have_been_taken = False
        """False as long as no request can have left, or each was answered with an error status."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Has the exception of the output as soon as it cannot be written to."""
        self._target = reply_target(raw=raw) if shown else _Nothing()
        self._entry_id = ""
        """The id of the reply that is being printed."""
        self._restarts = 0
        self._length = 0
        """Characters of it that are printed."""
        self._error: TuiChatError | None = None
        self._is_waiting = False

    def follow(self, event: WorkspaceEvent) -> None:
        """Print what has arrived."""
        if self.failed.done():
            return
        try:
            match event:
                case ReplyGrew():
                    self._grow(event.grown)
                case ReplyRetrying(waiting):
                    self._note_sent(waiting.why)
                    when = f"in {waiting.seconds:.0f} s" if waiting.seconds >= 0.5 else "at once"
                    words = f"Trying again {when} ({waiting.why})"
                    write_line(f"{words}, attempt {waiting.attempt}.", err=True)
                case ReplyEnded():
                    self._end_reply(event)
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
        self.may_have_been_taken = self.may_have_been_taken or is_taken

    def _grow(self, grown: PartialReply) -> None:
        reply = grown.reply
        self._begin(grown.entry_id, reply.restarts)
        if not len(reply.content):
            self._show_waiting(reply)
        elif len(reply.content) > self._length:
            self.write(reply.text)

    def _begin(self, entry_id: str, restarts: int) -> None:
        if (entry_id, restarts) == (self._entry_id, self._restarts):
            return
        if self._length:
            self._target.end()
            if entry_id == self._entry_id:
                write_line("The provider began the reply again.", err=True)
        self._entry_id, self._restarts, self._length = entry_id, restarts, 0

    def _show_waiting(self, reply: Reply) -> None:
        if not self._is_waiting and reply.reasoning:
            self._is_waiting = True
            write_progress("Thinking …")

    def write(self, text: str) -> None:
        """Print what is new at the end of a text. Raises OutputClosed, OSError."""
        self._stop_waiting()
        self._target.write(text[self._length :])
        self._length = len(text)

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            write_progress("")

    def _end_reply(self, event: ReplyEnded) -> None:
        message = event.entry.message
        self._begin(message.id, self._restarts)
        if len(message.content) > self._length:
            self.write(message.content)
        self._stop_waiting()
        self._error = event.error
        self._note_sent(event.error)
        if (sentence := end_sentence(event.entry)) and not ended_early(event.entry):
            write_line(f"warning: {sentence}", err=True)

    def raise_error(self) -> None:
        """Raise the error of the last reply, if it failed."""
        if self._error is not None:
            if self._length:
                self._target.end()
                self._length = 0
            raise self._error

    def end(self) -> None:
        """Finish the output."""
        if self.failed.done():
            return
        self._stop_waiting()
        if self._length:
            self._length = 0
            self._target.end()

    def summarize(self) -> None:
        """Print model, duration, tokens and session, if somebody sees it."""
        if not output.is_terminal(err=True):
            return
        entry = self._workspace.state.entries[-1]
        timing = self._workspace.replies.timing(entry)
        words = [f"{entry.model} at {entry.endpoint}"]
        words += [f"{entry.seconds:.1f} s"] if entry.seconds is not None else []
        words += [f"{entry.usage.input:,} tokens in"] if entry.usage.input is not None else []
        words += [f"{entry.usage.output:,} out"] if entry.usage.output is not None else []
        words += [f"${timing.cost:.4f}"] if timing.cost else []
        words += [session_words(self._workspace)]
        write_line(" · ".join(map(one_line, words)), err=True)


def end_error(entry: Entry) -> ReplyCut | None:
    """Return the error for a complete reply that is empty or ended early; None for any other."""
    return ReplyCut(end_sentence(entry)) if ended_early(entry) else None


class _Target(Protocol):
    def write(self, text: str) -> None:
        """Write more of the reply. Raises OutputClosed, OSError."""

    def end(self) -> None:
        """Finish a reply."""


class _Nothing:
    """The output of a reply that is printed when it has ended."""

    def write(self, text: str) -> None:
        """Write nothing."""

    def end(self) -> None:
        """Write nothing."""


class _PlainOutput:
    """Text as it arrives: exact in a pipe, without harmful characters on a terminal."""

    def __init__(self, *, exact_end: bool) -> None:
        self._exact_end = exact_end
        """True to add no line break at the end."""
        self._last = ""

    def write(self, text: str) -> None:
        """Write more text."""
        self._last = text[-1:] or self._last
        write_reply(text)

    def end(self) -> None:
        """End the last line."""
        if self._last not in ("", "\n") and not (self._exact_end and not output.is_terminal()):
            self.write("\n")
        self._last = ""


class _Rendered:
    """Markdown on a terminal."""

    def __init__(self, target: MarkdownOutput) -> None:
        self._target = target

    def write(self, text: str) -> None:
        """Draw more text."""
        write_text(self._target.feed(text))

    def end(self) -> None:
        """Draw the end."""
        write_text(self._target.end())


def reply_target(*, raw: bool) -> _Target:
    """Return the output of replies that are printed."""
    if raw or (target := output.markdown_target()) is None:
        return _PlainOutput(exact_end=raw)
    return _Rendered(target)


def session_words(workspace: Workspace) -> str:
    """Return which session the reply is in, for a line of narration."""
    state = workspace.state
    if state.is_temporary:
        return "not stored"
    ids = {state.session_id, *(session.session_id for session in state.sessions)}
    return f"session {shortened(ids)[state.session_id]}"


def reply_json(workspace: Workspace, entry: Entry, files: Sequence[SavedFile]) -> dict[str, Any]:
    """Return a reply, with its pictures and files, as `--json` prints it."""
    message, timing = entry.message, workspace.replies.timing(entry)
    return {
        "session_id": None if workspace.state.is_temporary else workspace.state.session_id,
        "message_id": message.id,
        "endpoint": entry.endpoint,
        "model": entry.model,
        "content": message.content,
        "refusal": message.semantics.refusal or None,
        "reasoning": "\n\n".join(block.text for block in message.semantics.reasoning if block.text),
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ],
        "references": references_json(message.semantics.references),
        "tokens": tokens_json(message.semantics.tokens),
        "files": [file.json() for file in files],
        "status": entry.status,
        "finish_reason": reply_reason(entry) if entry.status == "complete" else None,
        "provider_finish_reason": entry.finish or None,
        "usage": usage_json(entry.usage),
        "seconds": entry.seconds,
        "cost": None if timing.cost is None else float(timing.cost),
        "error": entry.error or end_sentence(entry) or None,
    }


# --- sources, files and code ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A picture, sound or file of a reply."""

    part: Part
    path: Path | None
    """Its file; None if it was not saved."""
    why: str = ""
    """The reason why it was not saved, as the end of a sentence."""

    @property
    def sentence(self) -> str:
        """Say where it is, or why it is nowhere."""
        what = f"{self.part.kind} ({one_line(describe(self.part), 120) or 'of unknown type'})"
        if self.path is not None:
            return f"Saved the {what} to {self.path}."
        if self.part.url:
            return f"The {what} is at {one_line(self.part.url, 2000)}."
        return f"The {what} was not saved: {self.why}"

    def json(self) -> dict[str, Any]:
        """Return it as `ask --json` prints it."""
        return {
            "kind": self.part.kind,
            "mime": self.part.mime or None,
            "path": None if self.path is None else str(self.path),
            "url": self.part.url or None,
        }


def save_files(message: Message, folder: Path | None) -> list[SavedFile]:
    """Write a reply's pictures and files to a folder, if any, without overwriting anything."""
    return [_save(message, number, folder) for number in range(1, len(message.parts) + 1)]


def _save(message: Message, number: int, folder: Path | None) -> SavedFile:
    part = message.parts[number - 1]
    file = file_of(part, number)
    if file is None:
        return SavedFile(part, None, "the reply has no content of it.")
    if folder is None:
        return SavedFile(part, None, "of a temporary session nothing is, without --save-to.")
    name, content = file
    try:
        return SavedFile(part, write_new_file(folder / f"{message.id[:12]}-{name}", content))
    except InputError as error:
        return SavedFile(part, None, str(error))


def source_lines(references: References) -> Iterator[str]:
    """Yield the sources of a reply, numbered as its citations are, and what was searched for."""
    for number, source in enumerate(references.sources, 1):
        place = source.url or (source.file if source.title else "")
        yield one_line(f"[{number}] {source.label}{f' · {place}' if place else ''}", 5000)
    for failure in references.failures:
        yield one_line(failure, 5000)


def references_json(references: References) -> Any:
    """Return the references of a reply as `read` prints them; None if it has none."""
    return json.loads(pack(references)) if references != NO_REFERENCES else None


def tokens_json(packed: str) -> Any:
    """Return the tokens of a reply with their probabilities; None if it has none."""
    return plain(unpack_tokens(packed)) if packed else None


def first_code_block(markdown: str) -> str | None:
    """Return the content of the first fenced code block of a text; None if it has none."""
    from markdown_it import MarkdownIt  # only needed here

    tokens = MarkdownIt("commonmark").parse(markdown)
    return next((token.content for token in tokens if token.type == "fence"), None)
