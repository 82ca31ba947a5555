"""Everything that the command line prints goes through here.

1. Text of providers, files, arguments and the configuration is sanitized (`models.sanitize`), so
   the terminal never obeys it. In JSON the same characters become escapes: equal JSON. Only our
   own colors and the progress line reach the terminal as they are.
2. The bytes of a request (`build`, `convert`) go to a file or a pipe unchanged. On a terminal the
   harmful characters in them become JSON escapes.
3. If the reader of the output closes it (`| head`), the command ends without a message, with the
   exit status of a program that SIGPIPE ended.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from tui_chat.errors import TuiChatError
    from tui_chat.models.envelope import Note

_T = TypeVar("_T")

CLOSED = 141
"""Exit status after the reader closed the output: 128 + SIGPIPE."""


class OutputClosed(Exception):
    """The reader of the output closed it."""


@dataclass(frozen=True, slots=True)
class Styled:
    """Text with a color, which is used on a terminal only."""

    text: str
    fg: str | None = None
    bold: bool = False


def write_line(*parts: str | Styled, err: bool = False) -> None:
    """Print a line made of parts. Raises OutputClosed, OSError."""
    color = is_terminal(err=err) and not os.environ.get("NO_COLOR")
    line = "".join(_shown(part, color) for part in parts)
    write_text(line + "\n", err=err)


def table(
    rows: Sequence[Sequence[str]], *narrowed: tuple[int, int], right: Collection[int] = ()
) -> str:
    """Return rows of safe texts, the head first, as lines with columns, those of `right` aligned
    right.

    On a terminal the columns of `narrowed` (index and least width) give way, one after the other,
    until the table fits.
    """
    from rich.cells import cell_len, set_cell_size

    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        for column, least in narrowed:
            over = sum(widths) + 2 * (len(widths) - 1) - room
            widths[column] -= max(0, min(over, widths[column] - least))

    def cell(column: int, text: str) -> str:
        width = widths[column]
        return text.rjust(width) if column in right else set_cell_size(text, width)

    return "\n".join("  ".join(map(cell, range(len(row)), row)).rstrip() for row in rows)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def write_list(
    values: Sequence[_T],
    as_json: bool,
    json_of: Callable[[_T], object] | None,
    head: Sequence[str],
    cells_of: Callable[[_T], Sequence[str]],
    *narrowed: tuple[int, int],
    nothing: str,
) -> None:
    """Print values as a JSON array, or as a table with this head; `json_of` is None for documents,
    `narrowed`: see `table`. Without values, the sentence `nothing` goes to the error stream.
    """
    if as_json:
        write_json([json_of(value) if json_of else value for value in values])
    elif values:
        rows = [head, *([one_line(cell) for cell in cells_of(value)] for value in values)]
        write_line(table(rows, *narrowed))
    else:
        write_line(nothing, err=True)


def write_json(value: object, indent: int | None = 2) -> None:
    """Print a value, or documents (see `documents`), as JSON; without `indent` on one line. Raises
    OutputClosed, OSError.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=document_json)
    write_text(sanitize(text, "json") + "\n")


def document_json(value: object) -> Any:
    """Return a document as plain JSON."""
    from tui_chat.cli.documents import dump  # with pydantic

    return dump(value)


def write_body(body: bytes) -> None:
    """Print the body of a request: its exact bytes, or on a terminal equal, harmless JSON.

    Raises OutputClosed, OSError.
    """
    if is_terminal():
        write_text(sanitize(body.decode("utf-8", "replace"), "json") + "\n")
    else:
        _write_bytes(body)


def write_request(text: str) -> None:
    """Print a request as text, sanitized on a terminal only, like `write_body`."""
    write_body(text.encode() if is_terminal() else f"{text}\n".encode())


def write_reply(text: str) -> None:
    """Print a piece of a reply, to a terminal without harmful characters. Raises OutputClosed."""
    if is_terminal():
        write_text(sanitize(text))
    else:
        write_export(text)


def write_export(text: str) -> None:
    """Print a piece of an export, which is sanitized already. Raises OutputClosed, OSError."""
    _write_bytes(text.encode("utf-8", "replace"))


def _write_bytes(content: bytes) -> None:
    with detect_closed_output():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def write_progress(text: str) -> None:
    """Draw the progress line on the error stream if that is a terminal. Empty text removes it."""
    if is_terminal(err=True):
        write_text(f"\r{sanitize(text)}\x1b[K", err=True)


def write_error(sentence: str, advice: str = "") -> None:
    """Print an error and advice on the standard error stream."""
    write_line(f"Error: {sentence} {advice}".rstrip(), err=True)


def write_warning(error: TuiChatError) -> None:
    """Print an error after which the command goes on."""
    write_line(f"warning: {error} {error.advice}".rstrip(), err=True)


def write_notes(notes: Iterable[Note]) -> None:
    """Print the notes of a request to stderr; equal ones are one line with their number."""
    numbers = Counter(f"{note.level}: {note.sentence}" for note in notes)
    for line, number in numbers.items():
        write_line(f"{line} ({number:,} times)" if number > 1 else line, err=True)


def is_terminal(*, err: bool = False) -> bool:
    """Return True if the stream is a terminal."""
    return (sys.stderr if err else sys.stdout).isatty()


def write_text(text: str, *, err: bool = False) -> None:
    """Print text that is sanitized already, or our own. Raises OutputClosed, OSError."""
    stream = sys.stderr if err else sys.stdout
    with detect_closed_output():
        stream.write(text)
        stream.flush()


def finish() -> None:
    """Flush the standard output. Raises OutputClosed, OSError."""
    write_text("")


def discard() -> None:
    """Redirect the streams to the null device, so that flushing at exit cannot fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def detect_closed_output() -> Generator[None]:
    """Raise OutputClosed if the block writes to a closed pipe."""
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosed from error


def _shown(part: str | Styled, color: bool) -> str:
    if isinstance(part, str):
        return sanitize(part)
    if not color:
        return sanitize(part.text)
    import click

    return click.style(sanitize(part.text), fg=part.fg, bold=part.bold or None)
