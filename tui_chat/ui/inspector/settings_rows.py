"""The rows of settings in the context view: who set each, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tui_chat.analysis.settings_report import SettingReport, report_settings
from tui_chat.compose import Composed
from tui_chat.models.envelope import Level
from tui_chat.ui.inspector.body_nodes import Source
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import BLANK, Part, ViewRow, line, spread, text_rows

_NAME = 20
"""Cells of the column of names."""


def setting_parts(
    composed: Composed, opened: Set[Source], width: int, action: str
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
    column = min(max(len(_one_line(report.value)) for report in reports), max(width // 4, 8))
    for report in reports:
        yield [_row(report, column, width, action)]
        if (report.origin.kind, report.origin.id) in opened:
            words = f"{report.value}, {report.by}. {_why(report) or report.outcome}"
            yield text_rows(words, width, "  │ ", "muted", report.origin)
    yield BLANK


def _why(report: SettingReport) -> str:
    """Return the sentences of the notes about a setting."""
    return " ".join(note.sentence for note in report.notes)


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
        right = cut(value.pointer, max(width // 3, 8)) + more
    hint = _why(report) or report.outcome
    return ViewRow(spread(width, pieces, right, style), report.origin, action, hint)


def _one_line(text: str) -> str:
    return " ".join(text.split())
