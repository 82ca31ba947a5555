"""`tui-chat redact`: shows what must not be shared of a session, and exports the rest."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from tui_chat.cli.app import asynchronous, library_in, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.export import export_names, local_zone, require_target
from tui_chat.cli.names import named_session
from tui_chat.cli.options import FILE, PluginChoice, last_or_session
from tui_chat.cli.output import Styled, counted, finish, is_terminal, write_export, write_line
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.redact.patterns import KINDS
from tui_chat.plugins.redact.review import Excerpt, Review, SensitiveText, review_session
from tui_chat.workspace.exports import transcript_texts, write_file

_AROUND = 30
"""Characters of an excerpt on either side."""


@click.command("redact")
@last_or_session
@click.option(
    "--format",
    "kind",
    type=PluginChoice(export_names),
    default="json",
    show_default=True,
    help="The format, as for `export`.",
)
@click.option(
    "--output",
    "-o",
    type=FILE,
    help="A file; without it, the standard output.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="KIND|TEXT",
    help="Leave a kind of findings, or a text that was found, as it is; repeatable.",
)
@click.option(
    "--without-requests",
    is_flag=True,
    help="Omit requests (with their presets, profiles and lorebooks) and drafts from JSON.",
)
@click.option("--yes", "sure", is_flag=True, help="Export without a question.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@asynchronous
async def redact_command(
    common: CommonOptions,
    name: str | None,
    kind: str,
    output: Path | None,
    keep: tuple[str, ...],
    without_requests: bool,
    sure: bool,
    force: bool,
) -> None:
    """Export a session without keys, addresses and names, for sharing.

    Shows first what was found, and where: API keys, passwords, private keys, e-mail and IP
    addresses, phone, account and card numbers, user names of home folders, your profile's name, and
    the words in redact.txt in the folder of the configuration. Then asks, and writes the session
    with a placeholder for each text. No search finds everything: read the file before you share it.

    \b
    Examples:
      tui-chat redact "A walk" --format html --output walk.html
      tui-chat redact --keep ip --keep me@example.com --yes > shared.json
    """
    if without_requests and kind == "json":
        kind = "shared"
    require_target(output, force=force)
    library = library_in(common.config_folder)
    async with open_store(common) as store:
        session = await named_session(store, name)
        review = await review_session(
            store, library, common.config_folder, session.session_id, requests=kind == "json"
        )
    kept = _kept(review.findings, keep)
    _show(review, kept)
    if not sure:
        _ask(output)
    texts = transcript_texts(review.redacted(kept), kind, local_zone())
    if output is not None:
        await write_file(_asynchronous(texts), output)
        return
    for text in texts:
        write_export(text)
    finish()


def _kept(findings: Sequence[SensitiveText], keep: Sequence[str]) -> frozenset[str]:
    """Return the placeholders of findings that stay. Raises InputError for an unknown word."""
    kept: set[str] = set()
    for word in keep:
        matching = {
            finding.placeholder
            for finding in findings
            if word == finding.kind
            or word.casefold() in (finding.text.casefold(), finding.placeholder.casefold())
        }
        if not matching and word not in KINDS:
            kinds = ", ".join(KINDS)
            advice = f"Name a text as it was found, or one of the kinds: {kinds}."
            raise InputError(f"“{one_line(word, 80)}” was not found.", advice=advice)
        kept |= matching
    return frozenset(kept)


def _show(review: Review, kept: frozenset[str]) -> None:
    """Print the findings on the error stream."""
    for kind, group in groupby(review.findings, lambda finding: finding.kind):
        write_line(Styled(KINDS[kind][0].upper() + KINDS[kind][1:], bold=True), err=True)
        for finding in group:
            what_then = "kept" if finding.placeholder in kept else finding.placeholder
            title = Styled(one_line(finding.title, 80), fg="red")
            times = counted(finding.count, "time")
            write_line("  ", title, f"  {times}  → {what_then}", err=True)
            for excerpt in finding.excerpts:
                write_line("      ", *_excerpt(excerpt), err=True)
            if more := finding.count - len(finding.excerpts):
                write_line(f"      and {more:,} more", err=True)
    if not review.findings:
        write_line("Nothing was found.", err=True)
    if review.warning:
        write_line(Styled(review.warning, fg="yellow"), err=True)


def _excerpt(excerpt: Excerpt) -> Iterator[str | Styled]:
    """Yield a place and the text around it, what was found in color."""
    place = excerpt.place
    yield f"{place.where}, {place.field}: …{excerpt.before[-_AROUND:]}"
    yield Styled(one_line(excerpt.text, 60), fg="red")
    yield f"{excerpt.after[:_AROUND].rstrip('…')}…"


def _ask(output: Path | None) -> None:
    """Ask before a byte is written; abort without consent."""
    if not (sys.stdin.isatty() and is_terminal(err=True)):
        raise InputError(
            "There is no terminal to ask on; nothing was written.",
            advice="`--yes` exports without a question.",
        )
    target = "the standard output" if output is None else one_line(str(output), 200)
    click.confirm(f"Write the session with these placeholders to {target}?", abort=True, err=True)


async def _asynchronous(texts: Iterator[str]) -> AsyncIterator[str]:
    for text in texts:
        yield text
