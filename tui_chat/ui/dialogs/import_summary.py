"""The result of an import, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tui_chat.errors import located
from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.workspace.import_report import Report

MOST_NOTES = 8
"""Notes on an imported file that are shown."""


def import_summary(report: Report) -> tuple[str, Literal["information", "warning", "error"]]:
    """Return the result of importing a file in sentences, and its severity."""
    name = one_line(report.path.name, 60)
    count = report.new + report.grown + report.known
    lines: list[str] = []
    if count:
        parts = [
            f"{report.new:,} new",
            f"{report.grown:,} extended",
            f"{report.known:,} already stored",
        ]
        lines.append(f"{name}: {', '.join(parts)}; {report.added:,} messages added.")
    roles = [one_line(role.name, 60) for role in report.cards]
    if len(roles) == 1:
        preset = one_line(report.cards[0].preset, 60)
        is_enabled = report.cards[0].status == "enabled"
        use = "Start a session with it." if is_enabled else "It is disabled: /roles enables it."
        lines.append(
            f"{name}: the character “{roles[0]}” is now a role with the preset “{preset}”. {use}"
        )
    elif roles:
        listed = ", ".join(roles[:5]) + (", …" if len(roles) > 5 else "")
        lines.append(f"{name}: {len(roles):,} characters are now roles: {listed}.")
    for kind in ("presets", "lorebooks", "profiles"):
        if names := [one_line(listed_name, 60) for listed_name in report.names(kind)]:
            listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            what = kind if len(names) > 1 else kind.removesuffix("s")
            lines.append(f"{name}: {len(names):,} {what}: {listed}.")
    if not count and not roles and not report.files and not report.faults:
        lines.append(f"{name}: no conversations in it.")
    notes = list(report.notes.items())
    lines += [f"{count:,} × {one_line(note, 200)}" for note, count in notes[:MOST_NOTES]]
    if report.skipped:
        lines.append(report.skipped_files(3))
    if len(notes) > MOST_NOTES:
        lines.append("`tui-chat import` shows the rest.")
    for fault in report.faults[:3]:
        sentence = located(one_line(fault.place, 80), one_line(fault.sentence, 200))
        lines.append(located(name, sentence))
        if fault.advice:
            lines.append(one_line(fault.advice, 200))
    if (more := len(report.faults) + report.more_faults - 3) > 0:
        lines.append(f"{more:,} more could not be read; `tui-chat import` lists them all.")
    severity = "information" if not report.faults else "warning" if count or roles else "error"
    return "\n".join(lines), severity
