"""The rows of settings in the context view: who set each, and what became of it.

A setting is one row; unfolded it has its notes, and what becomes of it in every protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len

from tui_chat.analysis.settings_report import SettingReport, report_settings
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.row_wrapping import counted, cut, cut_front
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    ViewRow,
    line,
    made_rows,
    spread,
    text_rows,
)
from tui_chat.ui.inspector.views import InProtocol

if TYPE_CHECKING:
    from tui_chat.compose import Composed

Everywhere: TypeAlias = "Sequence[tuple[Protocol, tuple[SettingReport, ...]]]"
"""The reports in each protocol."""

_NAME = 20
"""Cells of the column of names."""


def setting_parts(
    composed: Composed,
    in_protocol: InProtocol | None,
    opened: Set[tuple[OriginKind, str]],
    width: int,
    action: str,
) -> Iterator[Part]:
    """Yield the section of settings. `opened` are the unfolded ones, and `action` is what a row
    does.
    """
    reports = report_settings(composed)
    if not reports:
        return
    changed = sum(map(_is_doubtful, reports))
    summary = f"{counted(changed, 'setting')} changed or not sent" if changed else ""
    yield line(*spread(width, (("Settings", "heading"),), summary))
    everywhere: Everywhere = ()
    column = min(max(cell_len(_shown(each.value)) for each in reports), max(width // 4, 8))
    for report in reports:
        is_open = (report.origin.kind, report.origin.id) in opened
        yield made_rows((_row(report, column, width, action),))
        if is_open:
            everywhere = everywhere or _in_protocols(composed, reports, in_protocol)
            yield made_rows(_unfolded(report, everywhere, width))
    yield BLANK


def _in_protocols(
    composed: Composed, reports: tuple[SettingReport, ...], in_protocol: InProtocol | None
) -> Everywhere:
    """Return the reports of a request in its protocol, and then in the others."""
    others = [protocol for protocol in Protocol if protocol is not composed.protocol]
    reports_by_protocol = [(composed.protocol, reports)]
    if in_protocol is not None:
        reports_by_protocol += [
            (protocol, report_settings(in_protocol(composed, protocol))) for protocol in others
        ]
    return reports_by_protocol


def _is_doubtful(report: SettingReport) -> bool:
    """Return True if a note warns about a setting."""
    return any(note.level is not Level.INFO for note in report.notes)


def _row(report: SettingReport, column: int, width: int, action: str) -> ViewRow:
    """Return the row of a setting; `column` is the width of the values in cells."""
    style = "warning" if _is_doubtful(report) else "muted"
    more = f" +{len(report.sent) - 1}" if len(report.sent) > 1 else ""
    value = cut(_shown(report.value), column)
    pieces = (
        ("▎", OriginKind.SETTING),
        (f"{cut(report.name, _NAME - 1):<{_NAME}}", "strong"),
        (value + " " * (column - cell_len(value) + 2), OriginKind.SETTING),
        (_shown(report.source), "muted"),
    )
    right = report.outcome
    if report.sent:
        right = cut_front(_shown(report.sent[0].pointer), max(width // 3, 8)) + more
    why = " ".join(note.sentence for note in report.notes)
    hint = why or f"Enter shows how each protocol sends it. {report.outcome}"
    return ViewRow(spread(width, pieces, right, style), report.origin, action, hint)


def _unfolded(
    report: SettingReport,
    everywhere: Everywhere,
    width: int,
) -> list[ViewRow]:
    """Return the rows below a setting: its value and who set it, then each protocol."""
    origin = report.origin
    rows = text_rows(f"{report.value}, {report.by}.", width, "  │ ", "muted", origin)
    for protocol, reports in everywhere:
        counterpart = next((other for other in reports if other.name == report.name), None)
        if counterpart is None:
            continue
        style = "warning" if _is_doubtful(counterpart) else ""
        why = " ".join(note.sentence for note in counterpart.notes)
        outcome = why if why and not counterpart.sent else f"{counterpart.outcome}  {why}".rstrip()
        rows += text_rows(f"{protocol.label}: {outcome}", width, "  │ ", style, origin)
    return rows


def _shown(text: str) -> str:
    return sanitize(" ".join(text.split()), "exact")
