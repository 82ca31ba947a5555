"""The commands about conversations that are kept, and their flags."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tui_chat.cli.output import write_line

_FILE = click.Path(path_type=Path, allow_dash=False)
_FILE_OR_INPUT = click.Path(path_type=Path, allow_dash=True)


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=_FILE_OR_INPUT)
@click.option("--dry-run", is_flag=True, help="Only tell what would be taken in.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, for programs.")
@click.pass_obj
def import_command(
    settings: dict[str, object], files: tuple[Path, ...], dry_run: bool, as_json: bool
) -> None:
    """Take conversations in from files.

    Read are the exports of ChatGPT and Claude (the archive, the folder it was unpacked to, or the
    conversations.json in it), SillyTavern's chats, tui-chat's own JSON, and JSON or JSON lines of
    messages; `-` is the standard input. Of a folder every such file is read. What is there
    already is not added again. Exits with 1 where something could not be read; the rest is in.
    """
    from tui_chat.cli.import_export import run_import

    if not run_import(settings, files, dry_run=dry_run, as_json=as_json):
        sys.exit(1)


@click.command("export")
@click.argument("session", required=False)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json", "jsonl", "markdown", "html"]),
    default="json",
    show_default=True,
    help="JSON has everything and can be imported again; JSON lines are messages; the others "
    "are for reading.",
)
@click.option("--output", type=_FILE, help="A file; with --all a folder, or one file for JSON.")
@click.option("--all", "everything", is_flag=True, help="Every session.")
@click.option(
    "--without-requests",
    is_flag=True,
    help="Of JSON, leave out what was sent for the replies, with its presets, profiles and "
    "lorebooks, and the draft: for a file that is given to others.",
)
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.pass_obj
def export_command(
    settings: dict[str, object],
    session: str | None,
    kind: Any,
    output: Path | None,
    everything: bool,
    without_requests: bool,
    force: bool,
) -> None:
    """Write a session to a file or the standard output.

    SESSION is an id, the beginning of one, or a title.
    """
    from tui_chat.cli.import_export import run_export

    if without_requests and kind == "json":
        kind = "shared"
    run_export(settings, session, kind, output, everything=everything, force=force)


@click.group("sessions")
def sessions_group() -> None:
    """Show the sessions there are."""


@sessions_group.command("list")
@click.option("--role", default="", help="Only those with this role.")
@click.option("--model", default="", help="Only those with this model.")
@click.option("--endpoint", default="", help="Only those with this endpoint.")
@click.option("--tag", default="", help="Only those with this tag.")
@click.option("--folder", default="", help="Only those in this folder.")
@click.option("--title", default="", help="Only those whose title has these words.")
@click.option("--archived", is_flag=True, help="Archived ones too.")
@click.option("--deleted", is_flag=True, help="Only those in the trash.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, for programs.")
@click.pass_obj
def sessions_list(settings: dict[str, object], as_json: bool, **filters: Any) -> None:
    """List sessions, the one that was active last first."""
    from tui_chat.cli.sessions import Filters, run_list

    run_list(settings, Filters(**filters), as_json=as_json)


@click.command("search")
@click.argument("text", metavar="QUERY")
@click.option("--role", "role_name", default="", help="Only sessions with this role.")
@click.option("--model", default="", help="Only what this model wrote.")
@click.option("--endpoint", default="", help="Only what this endpoint answered.")
@click.option(
    "--message-role",
    type=click.Choice(["system", "user", "assistant", "tool"]),
    help="Only what was said by this side.",
)
@click.option("--tag", default="", help="Only sessions with this tag.")
@click.option("--session", "session_id", default="", help="Only the session with this id.")
@click.option("--since", type=click.DateTime(), help="From this day or moment on.")
@click.option("--until", type=click.DateTime(), help="Before this day or moment.")
@click.option("--newest", is_flag=True, help="Newest first; otherwise the best first.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, for programs.")
@click.pass_obj
def search_command(
    settings: dict[str, object],
    since: datetime | None,
    until: datetime | None,
    newest: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Search all that was said, reasoning and tool calls too, and titles and roles of sessions.

    All words must be there; "words in quotes" follow each other, and word* finds what begins so.
    Exits with 1 where nothing is found.
    """
    from tui_chat.cli.sessions import run_search
    from tui_chat.models.search import Query

    query = Query(
        since=since.astimezone().timestamp() if since else None,
        until=until.astimezone().timestamp() if until else None,
        order="newest" if newest else "rank",
        **asked,
    )
    if not run_search(settings, query, as_json=as_json):
        if not as_json:
            write_line("Nothing was found.", err=True)
        sys.exit(1)


@click.command("view")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=_FILE)
@click.pass_obj
def view_command(settings: dict[str, object], files: tuple[Path, ...]) -> None:
    """Look at exported conversations, read-only.

    Opens every kind of file that `import` reads, without an account, a network, or a trace in
    your own conversations.
    """
    from tui_chat.cli.view import run_view

    run_view(settings, files)


COMMANDS: tuple[click.Command, ...] = (
    import_command,
    export_command,
    sessions_group,
    search_command,
    view_command,
)
