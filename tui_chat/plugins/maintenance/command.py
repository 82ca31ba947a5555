"""`tui-chat db`: status, backups and repair of the database file."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from tui_chat.cli.options import FILE, json_option
from tui_chat.cli.output import Styled, write_json, write_line
from tui_chat.errors import StoreDamaged
from tui_chat.plugins.maintenance import upkeep
from tui_chat.plugins.maintenance.check import REPAIRED, CheckResult
from tui_chat.plugins.maintenance.check import check as run_checks
from tui_chat.store.access import status as database_status


def _age(path: Path) -> str:
    made = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone()
    return f"{path.name}, made {made:%Y-%m-%d %H:%M}"


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


@click.group()
@click.pass_context
def db(context: click.Context) -> None:
    """Maintain the database: backups, checks, repair.

    Every command is safe while the app is open. One that needs exclusive access is then refused,
    and changes nothing.
    """
    context.obj = context.obj.database


@db.command()
@json_option()
@click.pass_obj
def status(path: Path, as_json: bool) -> None:
    """Show version, size, counts and backup.

    Also the migrations, and whether a program has the database open.

    \b
    Example:
      tui-chat db status --json
    """
    if not any(path.parent.glob(f"{path.name}*")):
        if as_json:
            write_json({"path": str(path), "version": None, "exists": False})
        else:
            write_line(f"{path} does not exist yet; the first start of the app creates it.")
        return

    facts = database_status(path)
    if as_json:
        saved = str(facts.backup) if facts.backup else None
        write_json({"exists": True, **asdict(facts), "path": str(path), "backup": saved})
        return
    rows = [
        ("database", str(facts.path)),
        ("version", f"{facts.version} of {facts.version + len(facts.pending)}"),
        *(("", f"{name}  applied") for name in facts.applied),
        *(("", f"{name}  PENDING: the next start of the app") for name in facts.pending),
        ("size", f"{_size(facts.bytes)}, {_size(facts.free_bytes)} of it free"),
        ("log", _size(facts.log_bytes)),
        ("sessions", f"{facts.sessions:,}"),
        ("messages", f"{facts.messages:,}"),
        ("backup", _age(facts.backup) if facts.backup else "none: `tui-chat db backup`"),
        ("in use", "yes, another program has it open" if facts.in_use else "no"),
    ]
    for name, value in rows:
        write_line(f"{name:<10}{value}")


@db.command()
@click.argument("file", required=False, type=FILE)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.pass_obj
def backup(path: Path, file: Path | None, force: bool) -> None:
    """Copy the database to FILE.

    The default is a new file beside it. The app may be open.

    \b
    Example:
      tui-chat db backup chat-copy.db
    """
    saved = upkeep.backup(path, file, now=time.time(), force=force)
    write_line(f"{saved}  {_size(saved.stat().st_size)}")


@db.command()
@click.argument("file", type=FILE)
@click.pass_obj
def restore(path: Path, file: Path) -> None:
    """Replace the database with the backup FILE. The previous one is kept beside it.

    \b
    Example:
      tui-chat db restore chat-copy.db
    """
    aside = upkeep.restore(path, file, now=time.time())
    write_line(f"{path} was replaced by {file}.")
    if aside is not None:
        write_line(f"The previous database is kept in {aside}")


@db.command()
@json_option()
@click.pass_obj
def check(path: Path, as_json: bool) -> None:
    """Check the database for faults.

    Checks pages, references, branches, counts, search index, values and hashes. Exits with 1 if
    there are faults.

    \b
    Example:
      tui-chat db check
    """

    def show(check: CheckResult) -> None:
        if as_json:
            return
        sign = Styled("NO", "red") if check.faults else Styled("ok", "green")
        write_line("  ", sign, f"  {check.name}")
        for fault in check.faults:
            write_line(f"      {fault}")

    try:
        checks = run_checks(path, show)
    except StoreDamaged as error:
        checks = (CheckResult("file", (str(error),)),)
        show(checks[0])
    faults = sum(len(check.faults) for check in checks)
    if as_json:
        write_json(
            {
                "path": str(path),
                "sound": not faults,
                "checks": [{"name": check.name, "faults": list(check.faults)} for check in checks],
            }
        )
    elif faults and all(check.name in REPAIRED for check in checks if check.faults):
        write_line("\nTo rebuild counts and search index, and remove unreadable values:")
        write_line("  tui-chat db repair")
    elif faults:
        write_line(
            f"\n{path} is damaged. First make a copy of it, then restore a backup:\n"
            "  tui-chat db restore BACKUP\n"
            "or save what can be read with `sqlite3 FILE .recover`."
        )
    else:
        write_line(f"\n{path} has no faults.")
    if faults:
        sys.exit(1)


@db.command()
@click.pass_obj
def repair(path: Path) -> None:
    """Rebuild counts and search index, and remove unreadable values.

    For databases where `check` finds them wrong. Changes nothing that can be read.

    \b
    Example:
      tui-chat db repair
    """
    for sentence in upkeep.repair(path):
        write_line(sentence)
    write_line("Counts were rebuilt. The search index will be rebuilt before the next search.")


@db.command()
@click.pass_obj
def vacuum(path: Path) -> None:
    """Compact the file after deletions.

    \b
    Example:
      tui-chat db vacuum
    """
    before, after = upkeep.vacuum(path)
    write_line(f"{_size(before)} -> {_size(after)}")
