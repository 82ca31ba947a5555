"""The output of `tui-chat ask`: the reply on the standard output, narration on the error stream.

Besides its text a reply has sources, pictures and other files, and blocks of code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.cli import output
from tui_chat.cli.names import SHORT_ID
from tui_chat.cli.output import OutputClosed, write_line, write_reply
from tui_chat.errors import InputError, Refused, ReplyCut, Unreachable
from tui_chat.files import write_new_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import describe, file_of
from tui_chat.models.message import Message
from tui_chat.models.reply_end import end_sentence, ended_early
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.workspace.events import ReplyGrew, ReplyRetrying, ReplySettled

if TYPE_CHECKING:
    from tui_chat.errors import TuiChatError
    from tui_chat.send import PartialReply
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


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
                    self._grow(event.grown)
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

    def _grow(self, grown: PartialReply) -> None:
        reply = grown.reply
        self._begin(grown.entry_id)
        if reply.length > self._length:
            self._write(reply.text)

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


def end_error(entry: Entry) -> ReplyCut | None:
    """Return what is wrong with a complete reply: it is empty, or ended early."""
    return ReplyCut(end_sentence(entry)) if ended_early(entry) else None


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
