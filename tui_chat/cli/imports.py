"""`tui-chat import`: conversations from files into the database."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_chat.cli.files import STANDARD_INPUT, named
from tui_chat.cli.open_store import open_store
from tui_chat.cli.output import write_json, write_line, write_progress
from tui_chat.errors import InputError
from tui_chat.files import copy_standard_input
from tui_chat.importing import Report, import_files
from tui_chat.models.sanitize import one_line


def run_import(
    settings: Mapping[str, object], files: Sequence[Path], *, dry_run: bool, as_json: bool
) -> bool:
    """Take the files in and tell what came of it; return whether all could be read.

    Raises StoreError and InputError.
    """
    meter = Meter()
    try:
        reports = asyncio.run(_import(settings, files, dry_run, meter))
    finally:
        meter.clear()
    if as_json:
        told = [report_json(report) for report in reports]
        write_json(told)
    else:
        for report in reports:
            _tell(report, dry_run)
        if len(reports) > 1:
            _tell_all(reports, dry_run)
    return not any(report.failed for report in reports)


async def _import(
    settings: Mapping[str, object], files: Sequence[Path], dry_run: bool, meter: Meter
) -> tuple[Report, ...]:
    with _readable(files) as paths:
        async with open_store(settings) as store:
            reports = await import_files(store, paths, dry_run=dry_run, progress=meter.show)
    for report, file in zip(reports, files, strict=True):
        report.path = file
    return reports


@contextmanager
def _readable(files: Sequence[Path]) -> Generator[Sequence[Path]]:
    """Give files that can be read from their middle, too: the standard input is written into one.

    Raises InputError.
    """
    if STANDARD_INPUT not in files:
        yield files
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "standard input")
        try:
            with path.open("wb") as file:
                copy_standard_input(file)
        except (OSError, ValueError) as error:  # ValueError: it was closed
            raise InputError(f"The standard input cannot be read: {error}.") from error
        yield [path if each == STANDARD_INPUT else each for each in files]


def report_json(report: Report) -> dict[str, object]:
    """Return what came of a file, for programs."""
    return {
        "file": str(report.path),
        "sessions": {"new": report.new, "grown": report.grown, "known": report.known},
        "messages_added": report.added,
        "session_ids": report.session_ids,
        "faults": [
            {"place": fault.place, "sentence": fault.sentence, "advice": fault.advice}
            for fault in report.faults
        ],
        "more_faults": report.more_faults,
        "notes": [{"sentence": note, "count": count} for note, count in report.notes.items()],
    }


def _tell(report: Report, dry_run: bool) -> None:
    name = one_line(named(report.path))
    sessions = report.new + report.grown + report.known
    if sessions:
        new = "would be new" if dry_run else "new"
        grown = "would grow" if dry_run else "grown"
        write_line(
            f"{name}: {_counted(sessions, 'session')} read: {report.new:,} {new}, "
            f"{report.grown:,} {grown}, {report.known:,} already there; "
            f"{_counted(report.added, 'message')} {'to add' if dry_run else 'added'}."
        )
    elif not report.faults:
        write_line(f"{name}: no conversations in it.")
    for note, count in report.notes.items():
        write_line(f"  {count:,} × {note}")
    tell_faults(report)


def _tell_all(reports: Sequence[Report], dry_run: bool) -> None:
    sessions = sum(report.new + report.grown + report.known for report in reports)
    added = _counted(sum(report.added for report in reports), "message")
    failed = sum(report.failed for report in reports)
    write_line(
        f"{_counted(len(reports), 'file')}: {_counted(sessions, 'session')}, "
        f"{added} {'to add' if dry_run else 'added'}"
        + (f"; {_counted(failed, 'file')} with faults." if failed else ".")
    )


def tell_faults(report: Report) -> None:
    """Tell on the standard error stream what of a file could not be read, and what to do."""
    name = one_line(named(report.path))
    for fault in report.faults:
        place = f"{one_line(fault.place)}: " if fault.place else ""
        write_line(f"{name}: {place}{one_line(fault.sentence)}", err=True)
    for advice in dict.fromkeys(fault.advice for fault in report.faults if fault.advice):
        write_line(f"{name}: {advice}", err=True)
    if report.more_faults:
        write_line(f"{name}: {_counted(report.more_faults, 'fault')} more.", err=True)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


class Meter:
    """How far an import is, on a line of the terminal; silent where there is none."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, report: Report) -> None:
        """Draw the state anew."""
        done = min(report.read * 100 // report.size, 100) if report.size else 0
        sessions = report.new + report.grown + report.known
        line = f"{one_line(report.path.name, 40)}  {done}%  {_counted(sessions, 'session')}"
        write_progress(line)
        self._shown = True

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            write_progress("")
