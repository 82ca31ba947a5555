"""The commands about stored conversations, and their flags, declared for click."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tui_chat.cli import completion
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import (
    FILE,
    INPUT,
    TEXT,
    endpoint_option,
    json_option,
    model_option,
    profile_option,
    role_option,
    session_option,
)
from tui_chat.cli.output import write_line


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT)
@role_option("The role of the character in SillyTavern's chats; by default the role with its name.")
@profile_option(
    "The profile of the user in SillyTavern's chats; by default the profile with the user's name.",
    "--persona",
)
@click.option("--dry-run", is_flag=True, help="Only report what would be imported.")
@json_option()
@click.pass_obj
def import_command(
    common: CommonOptions,
    files: tuple[Path, ...],
    role: str | None,
    profile: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import conversations and character cards from files.

    Formats: sessions of Claude Code, Codex, Gemini CLI, opencode, gptme, aichat and llm; exports of
    ChatGPT and Claude (the archive, its unpacked folder, or the conversations.json in it), Open
    WebUI and LibreChat; SillyTavern's chats, HAR files, tui-chat's own JSON, and JSON or JSON lines
    of messages. They are detected by content. `-` is the standard input; for a folder, every such
    file in it is imported. Messages that are already stored are not added again. Exits with 2 if
    something could not be read; the rest is imported.

    \b
    Examples:
      tui-chat import chatgpt.zip
      tui-chat import --dry-run --json exports/
      tui-chat import ines.png "chats/Ines Varga/" --persona Kim
    """
    from tui_chat.cli.import_export import run_import

    if not run_import(common, files, role=role, profile=profile, dry_run=dry_run, as_json=as_json):
        sys.exit(2)


_SESSION = click.argument("session", metavar="SESSION", shell_complete=completion.complete_session)
_LAST_OR_SESSION = click.argument(
    "session", required=False, shell_complete=completion.complete_session
)


@click.command("export")
@_LAST_OR_SESSION
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json", "jsonl", "markdown", "html", "sillytavern"]),
    default="json",
    show_default=True,
    help="json is complete and can be imported again; jsonl has the messages; sillytavern is a "
    "chat of SillyTavern; markdown and html are for reading.",
)
@click.option(
    "--output", "-o", type=FILE, help="A file; with --all a folder, or for JSON one file."
)
@click.option("--all", "everything", is_flag=True, help="Export all sessions.")
@click.option(
    "--without-requests",
    is_flag=True,
    help="Omit requests (with their presets, profiles and lorebooks) and drafts from JSON, for "
    "a file that you share.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.pass_obj
def export_command(
    common: CommonOptions,
    session: str | None,
    kind: Any,
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
    from tui_chat.cli.import_export import run_export

    if without_requests and kind == "json":
        kind = "shared"
    run_export(common, session, kind, output, everything=everything, force=force)


@click.group("sessions")
def sessions_group() -> None:
    """List, show and organize sessions.

    A SESSION is an id, the start of one, or a title.
    """


_SESSIONS = click.argument(
    "sessions",
    metavar="SESSION...",
    nargs=-1,
    required=True,
    shell_complete=completion.complete_session,
)


@sessions_group.command("show")
@_LAST_OR_SESSION
@json_option()
@click.pass_obj
def sessions_show(common: CommonOptions, session: str | None, as_json: bool) -> None:
    """Print a session: its facts and the messages of its branch, as Markdown.

    Without SESSION, the one that was active last.

    \b
    Examples:
      tui-chat sessions show
      tui-chat sessions show "A walk"
      tui-chat sessions show 0198a --json
    """
    from tui_chat.cli.sessions import show

    show(common, session, as_json=as_json)


@sessions_group.command("rename")
@_SESSION
@click.argument("title", type=TEXT)
@click.pass_obj
def sessions_rename(common: CommonOptions, session: str, title: str) -> None:
    """Give a session another title.

    \b
    Example:
      tui-chat sessions rename 0198a "Salt marshes"
    """
    from tui_chat.cli.sessions import rename

    rename(common, session, title)


@sessions_group.command("tag")
@_SESSIONS
@click.option("--add", "-a", multiple=True, metavar="TAG", help="A tag to add; repeatable.")
@click.option("--remove", "-r", multiple=True, metavar="TAG", help="A tag to remove; repeatable.")
@click.pass_obj
def sessions_tag(
    common: CommonOptions,
    sessions: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
) -> None:
    """Add tags to sessions and remove others, then print what tags they have.

    \b
    Example:
      tui-chat sessions tag "A walk" 0198b --add outdoors --remove draft
    """
    from tui_chat.cli.sessions import tag

    tag(common, sessions, add, remove)


@sessions_group.command("archive")
@_SESSIONS
@click.option("--undo", is_flag=True, help="Take them out of the archive.")
@click.pass_obj
def sessions_archive(common: CommonOptions, sessions: tuple[str, ...], undo: bool) -> None:
    """Hide sessions from lists; search still finds them.

    \b
    Examples:
      tui-chat sessions archive "A walk"
      tui-chat sessions archive --undo "A walk"
    """
    from tui_chat.cli.sessions import archive

    archive(common, sessions, undo=undo)


@sessions_group.command("delete")
@_SESSIONS
@click.option("--undo", is_flag=True, help="Bring sessions back from the trash.")
@click.pass_obj
def sessions_delete(common: CommonOptions, sessions: tuple[str, ...], undo: bool) -> None:
    """Move sessions to the trash, where they stay for 30 days.

    \b
    Examples:
      tui-chat sessions delete "A walk"
      tui-chat sessions delete --undo "A walk"
    """
    from tui_chat.cli.sessions import delete

    delete(common, sessions, undo=undo)


@sessions_group.command("fork")
@_SESSION
@click.option("--at", "message", default="", metavar="ID", help="The last message of the copy.")
@click.option("--title", default="", help="Its title; default: that of the session.")
@click.pass_obj
def sessions_fork(common: CommonOptions, session: str, message: str, title: str) -> None:
    """Copy a session's branch into a new session and print the new session's id.

    The id of a message is in `sessions show --json`.

    \b
    Example:
      tui-chat ask -s "$(tui-chat sessions fork 'A walk')" "And if it had rained?"
    """
    from tui_chat.cli.sessions import fork

    fork(common, session, message, title)


@sessions_group.command("list")
@role_option("Only sessions with this role.", default="")
@model_option("Only sessions with this model.", default="")
@endpoint_option("Only sessions with this endpoint.", default="")
@click.option("--tag", default="", help="Only sessions with this tag.")
@click.option("--folder", default="", help="Only sessions in this folder.")
@click.option("--title", default="", help="Only sessions whose title contains this text.")
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--deleted", is_flag=True, help="Only sessions in the trash.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of sessions.")
@json_option()
@click.pass_obj
def sessions_list(common: CommonOptions, as_json: bool, **filters: Any) -> None:
    """List sessions, most recently active first.

    \b
    Examples:
      tui-chat sessions list --tag outdoors --limit 20
      tui-chat sessions list --deleted --json
    """
    from tui_chat.cli.sessions import Filters, run_list

    run_list(common, Filters(**filters), as_json=as_json)


@click.command("search")
@click.argument("text", metavar="QUERY")
@role_option("Only sessions with this role.", "role_name", default="")
@model_option("Only messages of this model.", default="")
@endpoint_option("Only messages of this endpoint.", default="")
@click.option(
    "--message-role",
    type=click.Choice(["system", "user", "assistant", "tool"]),
    help="Only messages with this role.",
)
@click.option("--tag", default="", help="Only sessions with this tag.")
@session_option("Only the session with this id.", "session_id", default="")
@click.option("--since", type=click.DateTime(), help="From this day or time.")
@click.option("--until", type=click.DateTime(), help="Before this day or time.")
@click.option("--newest", is_flag=True, help="Sort by time instead of relevance.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_option()
@click.pass_obj
def search_command(
    common: CommonOptions,
    since: datetime | None,
    until: datetime | None,
    newest: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Search messages and sessions.

    Searches texts, reasoning, tool calls, titles and roles. All words must occur; "words in quotes"
    must be adjacent, and word* matches a beginning. Exits with 1 if nothing is found.

    \b
    Example:
      tui-chat search '"north wall" garden*' --newest
    """
    from tui_chat.cli.sessions import run_search
    from tui_chat.models.search import Query

    query = Query(
        since=since.astimezone().timestamp() if since else None,
        until=until.astimezone().timestamp() if until else None,
        order="newest" if newest else "rank",
        **asked,
    )
    if not run_search(common, query, as_json=as_json):
        if not as_json:
            write_line("Nothing found.", err=True)
        sys.exit(1)


@click.command("view")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=FILE)
@click.pass_obj
def view_command(common: CommonOptions, paths: tuple[Path, ...]) -> None:
    """Read conversations of other programs in the app, without importing them.

    PATH is a file of any format that `import` reads, or a folder, such as ~/.claude/projects;
    without one, the folders of known programs are listed. A file is read when it is opened, and
    followed while it grows. Needs no account or network, and does not touch your own
    conversations or the files.

    \b
    Example:
      tui-chat view chatgpt.zip
    """
    from tui_chat.cli.import_export import run_view

    run_view(common, paths)
