"""`tui-chat import`: conversations and character cards from files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import click

from tui_chat.cli.app import asynchronous, library_in, open_store
from tui_chat.cli.common_options import CommonOptions, enable_plugins
from tui_chat.cli.options import FILE, json_option
from tui_chat.cli.output import counted, write_error, write_json, write_line, write_progress
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.plugins.transcripts.reader import format_names
from tui_chat.plugins.transcripts.report import FILE_KINDS, Report


class _ImportCommand(click.Command):
    """The command, whose help lists the formats of the core and of plugins."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        enable_plugins(ctx)
        self.epilog = f"Formats: {', '.join(format_names())}."
        super().format_epilog(ctx, formatter)


@click.command("import", cls=_ImportCommand)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("--dry-run", is_flag=True, help="Only report what would be imported.")
@json_option()
@asynchronous
async def import_command(
    common: CommonOptions,
    files: tuple[Path, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import conversations and character cards from files.

    The format is detected by content. Of a folder, and of the archive that ChatGPT or Claude
    exports, every such file in it is imported. Messages that are already stored are not added
    again. Exits with 2 if something could not be read; the rest is imported.

    \b
    Examples:
      tui-chat import chatgpt.zip
      tui-chat import --dry-run --json exports/
      tui-chat import ines.png "chats/Ines Varga/"
    """
    common.enable_plugins()
    library = library_in(common.config_folder)
    with _progress() as progress:
        async with open_store(common) as store:
            reports = await import_files(
                store, files, dry_run=dry_run, progress=progress, library=library
            )
    if as_json:
        write_json([_report_json(report) for report in reports])
    else:
        for report in reports:
            name = one_line(str(report.path))
            for line in report.lines(name, dry_run=dry_run):
                write_line(line)
            for sentence, advice in report.told_faults(name):
                write_error(f"{sentence}.", advice)
    if any(report.failed for report in reports):
        sys.exit(2)


@contextmanager
def _progress() -> Generator[Callable[[Report], None]]:
    """Yield a function that draws how much of a file is read; the line disappears at the end."""

    def show(report: Report) -> None:
        name = one_line(report.path.name, 40)
        write_progress(f"{name}  {report.percent}%  {counted(report.sessions, 'session')}")

    try:
        yield show
    finally:
        write_progress("")


def _report_json(report: Report) -> dict[str, object]:
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
