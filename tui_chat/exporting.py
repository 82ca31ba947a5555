"""Sessions out of the store into texts and files: one session at a time is in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from tui_chat import __version__
from tui_chat.errors import InputError

if TYPE_CHECKING:
    from tui_chat.models.transcript import Transcript
    from tui_chat.store import Store

Format: TypeAlias = Literal["json", "shared", "jsonl", "markdown", "html"]
"""`shared` is our JSON without what was sent and what is being typed: to be given to others."""

ENDINGS: dict[Format, str] = {
    "json": ".json",
    "shared": ".json",
    "jsonl": ".jsonl",
    "markdown": ".md",
    "html": ".html",
}
"""How the names of files end."""


ONE_FILE: frozenset[Format] = frozenset(("json", "shared"))
"""Formats of which one file can hold many sessions."""


async def exported(
    store: Store, session_ids: Sequence[str], kind: Format, zone: tzinfo
) -> AsyncIterator[str]:
    """Yield the text of a file with these sessions; only our JSON can hold more than one.

    `zone` is the one in which people read times. A session that is deleted meanwhile is left out.
    """
    from tui_chat.interop import own_json

    is_ours = kind in ONE_FILE
    if is_ours:
        yield own_json.begin(f"tui-chat {__version__}")
    first = True
    for session_id in session_ids:
        transcript = await store.transcripts.get(session_id, requests=kind == "json")
        if transcript is not None:
            for text in _texts(transcript, kind, zone, first):
                yield text
            first = False
    if is_ours:
        yield own_json.end()


def _texts(transcript: Transcript, kind: Format, zone: tzinfo, first: bool) -> Iterator[str]:
    match kind:
        case "json" | "shared":
            from tui_chat.interop.own_json import session_text

            return session_text(transcript, first=first)
        case "jsonl":
            from tui_chat.interop.messages import message_lines

            return message_lines(transcript)
        case "markdown":
            from tui_chat.interop.markdown import markdown

            return markdown(transcript, zone)
        case "html":
            from tui_chat.interop.html import page

            return page(transcript, zone)


async def write_file(chunks: AsyncIterator[str], path: Path) -> None:
    """Write a file, wholly or not at all. Raises InputError."""
    with _replacing(path) as file:
        async for text in chunks:
            file.write(text)


@contextmanager
def _replacing(path: Path) -> Generator[IO[str]]:
    """Give a file to write; it becomes `path` when the block is through.

    What is no file, such as a pipe, is written into.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            with path.open("w", encoding="utf-8", newline="\n") as file:
                yield file  # a device or a pipe: it stays what it is
            return
        target = path.resolve()  # a link stays a link: what it points to is replaced
        temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        fault = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {fault}") from error
