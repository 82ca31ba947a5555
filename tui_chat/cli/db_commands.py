"""`tui-chat db` and its flags."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_FILE = click.Path(path_type=Path, allow_dash=False)


@click.group()
@click.pass_context
def db(context: click.Context) -> None:
    """Look after the database: versions, backups, health, rescue.

    All of it is safe beside an open app; what needs the file for itself says so and changes
    nothing.
    """
    from tui_chat.cli.db import database

    context.obj = database(context.obj)


@db.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def status(path: Path, as_json: bool) -> None:
    """Show version, migrations, sizes, counts, the last backup, and who has it open."""
    from tui_chat.cli.db import run_status

    run_status(path, as_json=as_json)


@db.command()
@click.option("--to", "target", type=click.IntRange(min=1), help="The version; else the newest.")
@click.pass_obj
def migrate(path: Path, target: int | None) -> None:
    """Bring the database to a newer version, after a backup. The app does so by itself."""
    from tui_chat.cli.db import run_migrate

    run_migrate(path, target)


@db.command()
@click.option("--to", "target", type=click.IntRange(min=0), help="The version; else one less.")
@click.option("--yes", "sure", is_flag=True, help="Do not ask.")
@click.pass_obj
def rollback(path: Path, target: int | None, sure: bool) -> None:
    """Undo migrations, for an older tui-chat. Tells what is lost, and makes a backup before."""
    from tui_chat.cli.db import run_rollback

    run_rollback(path, target, sure=sure)


@db.command()
@click.argument("file", required=False, type=_FILE)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.pass_obj
def backup(path: Path, file: Path | None, force: bool) -> None:
    """Copy the database to FILE, or beside it. The app may be open and writing."""
    from tui_chat.cli.db import run_backup

    run_backup(path, file, force=force)


@db.command()
@click.argument("file", type=_FILE)
@click.pass_obj
def restore(path: Path, file: Path) -> None:
    """Put the copy FILE in the database's place. What was there is kept beside it."""
    from tui_chat.cli.db import run_restore

    run_restore(path, file)


@db.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def check(path: Path, as_json: bool) -> None:
    """Look whether the database is sound: pages, references, branches, counts, search,
    values, hashes.

    Exits with 1 where it is not.
    """
    from tui_chat.cli.db import run_check

    if not run_check(path, as_json=as_json):
        sys.exit(1)


@db.command()
@click.pass_obj
def repair(path: Path) -> None:
    """Make counts and search index anew, where `check` finds them wrong. No message changes."""
    from tui_chat.cli.db import run_repair

    run_repair(path)


@db.command()
@click.pass_obj
def vacuum(path: Path) -> None:
    """Give the space of what was deleted back to the disk."""
    from tui_chat.cli.db import run_vacuum

    run_vacuum(path)


@db.command()
@click.argument("file", required=False, type=_FILE)
@click.option("--to", "target", required=True, type=_FILE, help="The new file.")
@click.pass_obj
def salvage(path: Path, file: Path | None, target: Path) -> None:
    """Save what can be read of the damaged FILE (else the database) into a new file.

    It is read page by page and never changed.
    """
    from tui_chat.cli.db import run_salvage

    run_salvage(file or path, target)
