"""The rows of settings in the context view: who set each, and what became of it.

A setting is one row; unfolded it has its notes, and what becomes of it in every protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TypeAlias

from tui_chat.analysis.settings_report import SettingReport, report_settings
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.ui.inspector.body_nodes import Source
from tui_chat.ui.inspector.row_wrapping import counted, cut, cut_front
from tui_chat.ui.inspector.rows_view import BLANK, Part, ViewRow, line, spread, text_rows
from tui_chat.ui.inspector.views import InProtocol

Reports: TypeAlias = "Sequence[tuple[Protocol, tuple[SettingReport, ...]]]"

_NAME = 20
"""Cells of the column of names."""


def setting_parts(
    composed: Composed,
    in_protocol: InProtocol | None,
    opened: Set[Source],
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
    yield line(spread(width, (("Settings", "heading"),), summary))
    by_protocol: Reports = ()
    column = min(max(len(_one_line(report.value)) for report in reports), max(width // 4, 8))
    for report in reports:
        yield [_row(report, column, width, action)]
        if (report.origin.kind, report.origin.id) in opened:
            by_protocol = by_protocol or _in_protocols(composed, reports, in_protocol)
            yield from _unfolded(report, by_protocol, width)
    yield BLANK


def _in_protocols(
    composed: Composed, reports: tuple[SettingReport, ...], in_protocol: InProtocol | None
) -> Reports:
    """Return the reports of a request in its protocol, and then in the others."""
    others = [each for each in Protocol if each is not composed.protocol and in_protocol]
    return [
        (composed.protocol, reports),
        *((each, report_settings(in_protocol(composed, each))) for each in others if in_protocol),
    ]


def _is_doubtful(report: SettingReport) -> bool:
    """Return True if a note warns about a setting."""
    return any(note.level is not Level.INFO for note in report.notes)


def _row(report: SettingReport, column: int, width: int, action: str) -> ViewRow:
    """Return the row of a setting; `column` is the width of the values in cells."""
    style = "warning" if _is_doubtful(report) else "muted"
    pieces = (
        ("▎", "setting"),
        (f"{cut(report.name, _NAME - 1):<{_NAME}}", "strong"),
        (f"{cut(_one_line(report.value), column):<{column + 2}}", "setting"),
        (_one_line(report.source), "muted"),
    )
    right = report.outcome
    for value in report.sent[:1]:
        more = f" +{len(report.sent) - 1}" if len(report.sent) > 1 else ""
        right = cut_front(value.pointer, max(width // 3, 8)) + more
    why = " ".join(note.sentence for note in report.notes)
    hint = why or f"Enter shows how each protocol sends it. {report.outcome}"
    return ViewRow(spread(width, pieces, right, style), report.origin, action, hint)


def _unfolded(report: SettingReport, by_protocol: Reports, width: int) -> Iterator[Part]:
    """Yield the rows below a setting: its value and who set it, then each protocol."""
    origin = report.origin
    yield text_rows(f"{report.value}, {report.by}.", width, "  │ ", "muted", origin)
    for protocol, reports in by_protocol:
        other = next((each for each in reports if each.name == report.name), None)
        if other is None:
            continue
        style = "warning" if _is_doubtful(other) else ""
        why = " ".join(note.sentence for note in other.notes)
        outcome = why if why and not other.sent else f"{other.outcome}  {why}".rstrip()
        yield text_rows(f"{protocol.label}: {outcome}", width, "  │ ", style, origin)


def _one_line(text: str) -> str:
    return " ".join(text.split())
