"""`tui-chat export`: sessions as files, or on the standard output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_chat import hooks
from tui_chat.cli.app import asynchronous, library_in, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import named_session
from tui_chat.cli.options import FILE, PluginChoice, last_or_session
from tui_chat.cli.output import counted, write_export, write_line
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.exports import (
    MULTI_SESSION_FORMATS,
    export_formats,
    exported_texts,
    write_file,
)

if TYPE_CHECKING:
    from tui_chat.models.session import SessionSummary, SessionTranscript
    from tui_chat.store import Store


def export_names() -> tuple[str, ...]:
    """Return the formats that can be chosen by name."""
    return tuple(name for name in export_formats() if name != "shared")


@click.command("export")
@last_or_session
@click.option(
    "--format",
    "kind",
    type=PluginChoice(export_names),
    default="json",
    show_default=True,
    help="json is complete and can be imported again; jsonl has the messages; markdown and html "
    "are for reading; others are for the programs of that name.",
)
@click.option("--output", "-o", type=FILE, help="A file.")
@click.option("--all", "everything", is_flag=True, help="Export all sessions, as JSON.")
@click.option(
    "--without-requests",
    is_flag=True,
    help="Omit requests (with their presets, profiles and lorebooks) and drafts from JSON, for "
    "a file that you share.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@asynchronous
async def export_command(
    common: CommonOptions,
    name: str | None,
    kind: str,
    output: Path | None,
    everything: bool,
    without_requests: bool,
    force: bool,
) -> None:
    """Write a session to a file or the standard output.

    SESSION is an id, the start of one, or a title; without it, the session that was active last.
    A file can be read by its owner only.

    \b
    Examples:
      tui-chat export "A walk" --format html --output walk.html
      tui-chat export --all > everything.json
    """
    if without_requests and kind == "json":
        kind = "shared"
    if everything and name is not None:
        raise InputError("Name one session, or use --all.")
    if everything and kind not in MULTI_SESSION_FORMATS:
        advice = "Export them one by one, or as JSON."
        raise InputError(f"One file cannot hold several sessions as {kind}.", advice=advice)
    require_target(output, force=force)
    library = library_in(common.config_folder)
    async with open_store(common) as store:
        named = [] if everything else [await named_session(store, name)]
        sessions = list(await store.sessions.list()) if everything else named
        if export_formats()[kind].unwritten:
            count = hooks.load_named("exports", kind, "unwritten")
            await _name_unwritten(store, sessions, count)
        ids = [session.session_id for session in sessions]
        texts = exported_texts(store, ids, kind, local_zone(), library)
        if output is not None:
            await write_file(texts, output)
            return
        async for text in texts:
            write_export(text)


def require_target(output: Path | None, *, force: bool) -> None:
    """Raise InputError if the sessions cannot be written there."""
    is_there = output is not None and (output.is_file() or output.is_dir())
    if is_there and not force:
        raise InputError(f"{output} exists already.", advice="Overwrite it with --force.")


async def _name_unwritten(
    store: Store,
    sessions: Sequence[SessionSummary],
    unwritten: Callable[[SessionTranscript], int],
) -> None:
    """Print how many messages of each session an export leaves out."""
    for session in sessions:
        transcript = await store.transcripts.get(session.session_id)
        if transcript is not None and (count := unwritten(transcript)):
            verb = "is" if count == 1 else "are"
            sentence = f"{counted(count, 'message')} of other branches {verb} not written."
            write_line(f"{one_line(session.title, 60)}: {sentence}", err=True)


def local_zone() -> tzinfo:
    """Return the time zone of the times in an export."""
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None  # astimezone sets it
    return zone
