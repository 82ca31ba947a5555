"""`tui-chat import` and `export`: conversations between files and the database."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from tui_chat import extensions
from tui_chat.cli.app import library_in, open_store, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find, find_role, named_session
from tui_chat.cli.options import (
    FILE,
    INPUT,
    json_option,
    last_or_session,
    profile_option,
    role_option,
)
from tui_chat.cli.output import (
    finish,
    write_error,
    write_export,
    write_json,
    write_line,
    write_progress,
)
from tui_chat.errors import InputError, located
from tui_chat.files import (
    STANDARD_INPUT,
    copy_standard_input,
    input_name,
    make_private_folder,
    open_for_replacement,
)
from tui_chat.models.sanitize import one_line
from tui_chat.workspace.chat_participants import ChatParticipants, profile_files
from tui_chat.workspace.exporter import (
    MULTI_SESSION_FORMATS,
    export_formats,
    exported_texts,
    write_file,
)
from tui_chat.workspace.importer import FILE_KINDS, Report, import_files, skipped_names

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.session import SessionSummary
    from tui_chat.models.transcript import SessionTranscript
    from tui_chat.store import Store


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
    meter = Meter()
    participants = ChatParticipants()
    try:
        reports = asyncio.run(_import(common, files, dry_run, meter, participants, (role, profile)))
    finally:
        meter.clear()
    if as_json:
        write_json([report_json(report) for report in reports])
    else:
        for report in reports:
            _print_report(report, dry_run)
        if len(reports) > 1:
            _print_totals(reports, dry_run)
        _print_unknown(participants)
    if any(report.failed for report in reports):
        sys.exit(2)


async def _import(
    common: CommonOptions,
    files: Sequence[Path],
    dry_run: bool,
    meter: Meter,
    participants: ChatParticipants,
    names: tuple[str | None, str | None],
) -> tuple[Report, ...]:
    common.enable_plugins()
    library = library_in(common.config_folder)
    with _seekable(files) as paths:
        async with open_store(common) as store:
            role, profile = names
            participants.profiles = profile_files(library)
            participants.roles = await store.roles.list()
            if role:
                participants.role_id = find_role(participants.roles, role).role_id
            if profile:
                participants.profile = find("profile", profile, library.names("profiles"))
            reports = await import_files(
                store,
                paths,
                dry_run=dry_run,
                progress=meter.show,
                participants=participants,
                library=library,
            )
    for report, file in zip(reports, files, strict=True):
        report.path = file
    return reports


@contextmanager
def _seekable(files: Sequence[Path]) -> Generator[Sequence[Path]]:
    """Replace the standard input among files by a temporary file, since importing seeks.

    Raises InputError.
    """
    if STANDARD_INPUT not in files:
        yield files
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "standard input")
        try:
            with open_for_replacement(path, "private") as file:
                copy_standard_input(cast("BinaryIO", file.buffer))
        except (OSError, ValueError) as error:  # ValueError: it was closed
            raise InputError(f"The standard input cannot be read: {error}.") from error
        yield [path if each == STANDARD_INPUT else each for each in files]


def report_json(report: Report) -> dict[str, object]:
    """Return a report as JSON."""
    return {
        "file": str(report.path),
        "sessions": {"new": report.new, "grown": report.grown, "known": report.known},
        "messages_added": report.added,
        "session_ids": report.session_ids,
        "roles": [role.name for role in report.cards],
        **{kind: report.names(kind) for kind in FILE_KINDS},
        "skipped": report.skipped,
        "more_skipped": report.more_skipped,
        "faults": [
            {"place": fault.place, "sentence": fault.sentence, "advice": fault.advice}
            for fault in report.faults
        ],
        "more_faults": report.more_faults,
        "notes": [{"sentence": note, "count": count} for note, count in report.notes.items()],
    }


def _print_report(report: Report, dry_run: bool) -> None:
    name = one_line(input_name(report.path))
    sessions = report.new + report.grown + report.known
    if sessions:
        new = "would be new" if dry_run else "new"
        grown = "would grow" if dry_run else "grown"
        write_line(
            f"{name}: {_counted(sessions, 'session')} read: {report.new:,} {new}, "
            f"{report.grown:,} {grown}, {report.known:,} already there; "
            f"{_counted(report.added, 'message')} {'to add' if dry_run else 'added'}."
        )
    if report.cards:
        names = [one_line(role.name) for role in report.cards]
        would = "would become" if dry_run else "is now" if len(names) == 1 else "are now"
        if len(names) == 1:
            write_line(
                f"{name}: the character “{names[0]}” {would} a role; begin a session with it."
            )
        else:
            listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            write_line(f"{name}: {len(names):,} characters {would} roles: {listed}.")
    for kind in FILE_KINDS:
        if names := report.names(kind):
            new = sum(report.files[kind, each] for each in names)
            would = "would be new" if dry_run else "new"
            listed = ", ".join(map(one_line, names[:5])) + (", …" if len(names) > 5 else "")
            count = _counted(len(names), kind.removesuffix("s"))
            write_line(f"{name}: {count}, {new:,} {would}: {listed}.")
    if not sessions and not report.cards and not report.files and not report.faults:
        write_line(f"{name}: no conversations found.")
    for note, count in report.notes.items():
        write_line(f"  {count:,} × {note}")
    if report.skipped:
        write_line(f"  Skipped, since nothing known is in it: {skipped_names(report)}.")
    print_faults(report)


def _print_totals(reports: Sequence[Report], dry_run: bool) -> None:
    sessions = sum(report.new + report.grown + report.known for report in reports)
    added = _counted(sum(report.added for report in reports), "message")
    failed = sum(report.failed for report in reports)
    write_line(
        f"{_counted(len(reports), 'file')}: {_counted(sessions, 'session')}, "
        f"{added} {'to add' if dry_run else 'added'}"
        + (f"; {_counted(failed, 'file')} with faults." if failed else ".")
    )


def _print_unknown(participants: ChatParticipants) -> None:
    """Say which characters of new chats have no role."""
    if unknown := [one_line(name, 40) for name in participants.unknown]:
        names = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        is_one = len(unknown) == 1
        write_line(
            f"No role is called {names}; {{{{char}}}} is {'this name' if is_one else 'the name'} "
            "in the imported chats. To use the character's own texts, import the card first, or "
            "name a role with --role."
        )


def print_faults(report: Report) -> None:
    """Print the faults of a file on the standard error stream, with advice."""
    name = one_line(input_name(report.path))
    for fault in report.faults:
        sentence = located(one_line(fault.place), one_line(fault.sentence))
        write_error(located(name, sentence))
    for advice in dict.fromkeys(fault.advice for fault in report.faults if fault.advice):
        write_line(f"{name}: {advice}", err=True)
    if report.more_faults:
        write_line(f"{name}: {_counted(report.more_faults, 'fault')} more.", err=True)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


class Meter:
    """The progress line of an import; invisible without a terminal."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, report: Report) -> None:
        """Draw the progress."""
        done = min(report.read * 100 // report.size, 100) if report.size else 0
        sessions = report.new + report.grown + report.known
        line = f"{one_line(report.path.name, 40)}  {done}%  {_counted(sessions, 'session')}"
        write_progress(line)
        self._shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            write_progress("")


class _ExportFormat(click.Choice[str]):
    """A format that sessions are exported in."""

    def __init__(self) -> None:
        super().__init__([name for name in export_formats() if name != "shared"])

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if plugin := extensions.missing_plugin("exports", value):
            self.fail(f"“{value}” comes with the plugin “{plugin}”, which is not installed.")
        return super().convert(value, param, ctx)


@click.command("export")
@last_or_session
@click.option(
    "--format",
    "kind",
    type=_ExportFormat(),
    default="json",
    show_default=True,
    help="json is complete and can be imported again; jsonl has the messages; markdown and html "
    "are for reading; others are for the programs of that name.",
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
@synchronous
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
    into_folder = everything and kind not in MULTI_SESSION_FORMATS
    _require_target(output, kind, into_folder=into_folder, force=force)
    library = library_in(common.config_folder)
    async with open_store(common) as store:
        if everything:
            sessions = list(await store.sessions.list())
        else:
            sessions = [await named_session(store, name)]
        if unwritten := export_formats()[kind].unwritten:
            await _name_unwritten(store, sessions, extensions.load(unwritten))
        if into_folder:
            assert output is not None
            await _write_each(store, library, sessions, kind, output, force)
            return
        ids = [session.session_id for session in sessions]
        texts = exported_texts(store, ids, kind, _local_zone(), library)
        if output is not None:
            await write_file(texts, output)
            return
        async for text in texts:
            write_export(text)
        finish()


def _require_target(output: Path | None, kind: str, *, into_folder: bool, force: bool) -> None:
    """Raise InputError if the sessions cannot be written there."""
    if into_folder and output is None:
        raise InputError(
            f"All sessions as {kind} need several files.", advice="Name a folder with --output."
        )
    is_there = output is not None and (output.is_file() or output.is_dir())
    if is_there and not (force or into_folder):
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
            sentence = f"{_counted(count, 'message')} of other branches {verb} not written."
            write_line(f"{one_line(session.title, 60)}: {sentence}", err=True)


async def _write_each(
    store: Store,
    library: Library,
    sessions: Sequence[SessionSummary],
    kind: str,
    folder: Path,
    force: bool,
) -> None:
    try:
        make_private_folder(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}.") from error
    ending = export_formats()[kind].ending
    for session in sessions:
        target = folder / f"{_slug(session.title)}-{session.session_id[:12]}{ending}"
        if target.exists() and not force:
            raise InputError(f"{target} exists already.", advice="Overwrite it with --force.")
        ids = [session.session_id]
        await write_file(exported_texts(store, ids, kind, _local_zone(), library), target)


def _local_zone() -> tzinfo:
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None  # astimezone sets it
    return zone


def _slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "chat"
