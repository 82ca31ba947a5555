"""What stands below a message: what is attached to it, and how it ended."""

from __future__ import annotations

from tui_chat.models.session import Entry
from tui_chat.models.visible import one_line
from tui_chat.ui.chat.lines import BLANK, Action, Line, Run, clipped, indented, run, wrap
from tui_chat.ui.chat.markdown import plain_lines

_USUAL = {"", "stop", "end_turn", "stop_sequence", "completed", "tool_calls", "tool_use"}
_LIMIT = {"length", "max_tokens", "max_output_tokens"}
_FILTER = {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"}


SHOWN = 20_000
"""Characters of a refusal that are laid out: all of them are, each time that it grows."""
LISTED = 100
"""Attachments of a message that are listed."""


def foot_lines(entry: Entry, refusal: str, width: int) -> list[Line]:
    """Lay out everything below a message; `refusal` is as far as it came."""
    lines: list[Line] = []
    for part in entry.message.parts[:LISTED]:
        what = one_line(part.name or part.mime or part.url, 60)
        words = f"▣ {part.kind}" + (f"  {what}" if what else "")
        lines.append(Line((run(clipped(words, width), "quiet"),)))
    if (more := len(entry.message.parts) - LISTED) > 0:
        lines.append(Line((Run(f"▣ … {more:,} more attachments", ("quiet",)),)))
    if refusal:
        lines += [BLANK, *plain_lines(f"Declined: {refusal[:SHOWN]}", width, ("warning",))]
        if (more := len(refusal) - SHOWN) > 0:
            lines.append(Line((Run(f"… {more:,} more characters", ("quiet",)),)))
    lines += _end(entry, width)
    if entry.unsaved:
        words = f"Not saved yet: {one_line(entry.unsaved, 300)}"
        lines += [Line(), *_mark("!", "warning", words, width)]
    return lines


def _end(entry: Entry, width: int) -> list[Line]:
    """Lay out how a message ended, if not as it should."""
    match entry.status:
        case "stopped":
            return [Line(), *_mark("■", "quiet", "Stopped by you; what came is kept.", width)]
        case "interrupted":
            words = "The program ended before the reply did; what came is kept."
            return [*_box("~", "warning", "warning-box", words, "", width)]
        case "failed":
            words = entry.error or "The reply failed."
            return [*_box("!", "error", "error-box", words, entry.advice, width)]
        case "complete":
            finish = entry.finish.lower()
            if finish in _USUAL:
                return []
            if finish in _LIMIT:
                words = "Cut short: the reply reached its token limit."
            elif finish in _FILTER:
                words = f"Ended by the provider's filter ({one_line(entry.finish, 40)})."
            else:
                words = f"Ended with “{one_line(entry.finish, 40)}”."
            return [Line(), *_mark("■", "warning", words, width)]
        case "streaming":
            return []


def _mark(mark: str, style: str, words: str, width: int) -> list[Line]:
    lines = wrap((run(words, style),), width - 2)
    return indented(lines, (Run(f"{mark} ", (style,)),), (Run("  "),))


def _box(mark: str, style: str, fill: str, words: str, advice: str, width: int) -> list[Line]:
    """Lay out a calm box: what happened, what to do, and the key that does it."""
    bar = Run("▌", (style,))
    lines = wrap((run(one_line(words, 1000), "box-text"),), width - 4, fill=fill)
    made = indented(lines, (bar, Run(f"{mark} ", (style, "strong"))), (bar, Run("  ")))
    if advice:
        more = wrap((run(one_line(advice, 1000), "box-advice"),), width - 4, fill=fill)
        made += indented(more, (bar, Run("  ")), (bar, Run("  ")))
    retry = Action("retry")
    keys = (bar, Run("  "), Run(" r ", ("key",)), Run(" Regenerate", ("button",)))
    return [Line(), *made, Line(keys, fill, action=retry)]
