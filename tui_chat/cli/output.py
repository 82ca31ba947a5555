"""Everything that the command line prints goes through here.

1. What a provider, a file, an argument or the configuration says is shown and never obeyed: text
   passes `models.sanitize`, and in JSON the same characters become escapes, which is equal JSON.
   Only our own colours and the progress line are given to the terminal as they are.
2. The exact bytes of a request (`build`, `convert`) are promised to who keeps them: they go to a
   file or a pipe unchanged. On a terminal the harmful characters in them are JSON escapes.
3. A reader that had enough (`| head`) ends the command quietly, with the status of a program that
   is ended by SIGPIPE, as other tools do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tui_chat.models.sanitize import sanitize

CLOSED = 141
"""Exit status after the reader of the output is gone: 128 + SIGPIPE."""


class OutputClosed(Exception):
    """Nobody reads the output any more."""


@dataclass(frozen=True, slots=True)
class Styled:
    """Text in a colour, on a terminal."""

    text: str
    fg: str | None = None
    bold: bool = False


def write_line(*parts: str | Styled, err: bool = False) -> None:
    """Print a line of text, its parts one after the other. Raises OutputClosed, OSError."""
    colour = is_terminal(err=err) and not os.environ.get("NO_COLOR")
    line = "".join(_shown(part, colour) for part in parts)
    _write(line + "\n", err=err)


def write_json(value: object) -> None:
    """Print a value as JSON, for programs. Raises OutputClosed, OSError."""
    _write(sanitize(json.dumps(value, indent=2, ensure_ascii=False), "json") + "\n")


def write_body(body: bytes) -> None:
    """Print the body of a request: its exact bytes, or on a terminal equal JSON without harm.

    Raises OutputClosed, OSError.
    """
    if is_terminal():
        _write(sanitize(body.decode("utf-8", "replace"), "json") + "\n")
        return
    with noticing_the_end():
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()


def write_request(text: str) -> None:
    """Print a request as text with its exact body, as `write_body` does its bytes."""
    if is_terminal():
        _write(sanitize(text, "json") + "\n")
    else:
        write_body(f"{text}\n".encode())


def write_export(text: str) -> None:
    """Print a piece of an export, which is harmless already. Raises OutputClosed, OSError."""
    with noticing_the_end():
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def write_progress(text: str) -> None:
    """Draw the line that says how far a command is; empty text removes it. Nothing happens where
    the error stream is no terminal.
    """
    if is_terminal(err=True):
        with noticing_the_end():
            sys.stderr.write(f"\r{sanitize(text)}\x1b[K")
            sys.stderr.flush()


def write_error(sentence: str, advice: str = "") -> None:
    """Print a fault on the standard error stream, with what to do about it."""
    write_line(f"Error: {sentence}" + (f" {advice}" if advice else ""), err=True)


def is_terminal(*, err: bool = False) -> bool:
    """Return whether a person looks at what is printed."""
    return (sys.stderr if err else sys.stdout).isatty()


def finish() -> None:
    """Print what is still in memory. Raises OutputClosed, OSError."""
    with noticing_the_end():
        sys.stdout.flush()


def discard() -> None:
    """Print nothing any more, so that nothing fails when Python ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def noticing_the_end() -> Generator[None]:
    """Raise OutputClosed where what the block prints is read by nobody."""
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosed from error


def _shown(part: str | Styled, colour: bool) -> str:
    if isinstance(part, str):
        return sanitize(part)
    if not colour:
        return sanitize(part.text)
    import click

    return click.style(sanitize(part.text), fg=part.fg, bold=part.bold or None)


def _write(text: str, *, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    with noticing_the_end():
        stream.write(text)
        stream.flush()
