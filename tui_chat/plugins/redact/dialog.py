"""“Export redacted…” in the app: what was found, each in its place, then format and file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.redact.patterns import KINDS
from tui_chat.plugins.redact.review import SensitiveText, review_session, without_requests
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.dialogs.export import ask_export_file, ask_format

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat

_KIND = "kind "
"""The beginning of the id of a kind's line, which no placeholder has."""


async def export_redacted(app: TuiChat, _: str) -> None:
    """Show what must not be shared of the active session, and export the rest."""
    workspace = await app.main.opened_workspace()
    session = workspace.state.session
    if session is None:
        raise InputError("The session has no messages yet.")
    core = workspace.core
    review = await review_session(
        core.store_of(session.session_id),
        core.library,
        workspace.state.config.config_dir,
        session.session_id,
        requests=True,
    )
    kept = await app.push_screen_wait(FindingsDialog(review.findings, review.warning))
    if kept is None:
        return
    kind = await ask_format(app)
    if kind is None:
        return
    transcript = await asyncio.to_thread(review.redacted, kept)
    if kind == "shared":
        transcript = without_requests(transcript)
    if target := await ask_export_file(app, f"{transcript.session.title} redacted", kind):
        path, replaces = target
        await workspace.exports.export_transcript(transcript, kind, path, overwrite=replaces)


class FindingsDialog(Dialog[frozenset[str] | None]):
    """Lists findings by kind, with the text around one. The result: placeholders that are kept."""

    DEFAULT_CSS = """
    FindingsDialog > Vertical { width: 110; }
    FindingsDialog OptionList { max-height: 50vh; margin-top: 0; }
    FindingsDialog OptionList:focus { border: none; }
    FindingsDialog .excerpt { height: 4; margin-top: 1; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "keep", show=False, priority=True),
        Binding("enter", "go_on", show=False, priority=True),
    ]

    def __init__(self, findings: Sequence[SensitiveText], warning: str = "") -> None:
        super().__init__()
        self._warning = warning
        self._findings = {finding.placeholder: finding for finding in findings}
        self._kept: set[str] = set()

    def compose(self) -> ComposeResult:
        count = len(self._findings)
        with Vertical() as box:
            set_title(box, f"Not to be shared: {count:,} found" if count else "Nothing was found")
            if count:
                yield OptionList(*self._options())
            yield Static(classes="excerpt")
            if self._warning:
                yield Static(self._warning, classes="hint")
            hint = "Space keep or replace · " if count else ""
            yield Static(f"{hint}Enter choose the format · Esc cancel", classes="hint")

    def on_mount(self) -> None:
        if self._findings:
            self.query_one(OptionList).highlighted = 1
        else:
            text = "No key, address or name was found. No search finds everything: read the file."
            self.query_one(".excerpt", Static).update(text)

    def _options(self) -> list[Option]:
        options: list[Option] = []
        for kind, group in groupby(self._findings.values(), lambda finding: finding.kind):
            title = KINDS[kind][0].upper() + KINDS[kind][1:]
            options.append(Option(Text(title, style="bold"), id=_KIND + kind))
            options += (Option(self._line(one), id=one.placeholder) for one in group)
        return options

    def _line(self, finding: SensitiveText) -> Text:
        is_kept = finding.placeholder in self._kept
        line = Text("  [ ] " if is_kept else "  [x] ")
        line.append(one_line(finding.title, 60), style="" if is_kept else "bold")
        times = f"  {finding.count:,} times" if finding.count > 1 else ""
        what_then = "kept" if is_kept else f"→ {finding.placeholder}"
        return line.append(f"  {what_then}{times}", style="dim")

    def action_keep(self) -> None:
        """Keep or replace the highlighted finding, or all of its kind."""
        id = self._highlighted_id()
        if id.startswith(_KIND):
            kind = id.removeprefix(_KIND)
            ids = {one.placeholder for one in self._findings.values() if one.kind == kind}
            self._kept = self._kept - ids if ids <= self._kept else self._kept | ids
        else:
            ids = {id}
            self._kept ^= ids
        options = self.query_one(OptionList)
        for changed in ids & self._findings.keys():
            options.replace_option_prompt(changed, self._line(self._findings[changed]))

    def action_go_on(self) -> None:
        self.dismiss(frozenset(self._kept))

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._show_excerpt()

    def _highlighted_id(self) -> str:
        if not self._findings:
            return ""
        options = self.query_one(OptionList)
        highlighted = options.highlighted
        return options.get_option_at_index(highlighted).id or "" if highlighted is not None else ""

    def _show_excerpt(self) -> None:
        finding = self._findings.get(self._highlighted_id())
        shown = Text()
        if finding is not None:
            excerpt = finding.excerpts[0]
            shown.append(f"{excerpt.place.where}, {excerpt.place.field}", style="dim")
            if finding.count > 1:
                shown.append(f"  and {finding.count - 1:,} more", style="dim")
            shown.append(f"\n{sanitize(excerpt.before)}")
            shown.append(one_line(excerpt.text, 120), style="reverse")
            shown.append(sanitize(excerpt.after))
        self.query_one(".excerpt", Static).update(shown)
