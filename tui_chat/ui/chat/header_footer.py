"""The header above a message (speaker, versions, facts) and the footer below it (its ending)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from tui_chat.config import OFFLINE_ENDPOINT
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import describe, is_damaged, pixels_of
from tui_chat.models.reply_end import end_sentence
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SpeakerNames
from tui_chat.models.tool import server_of
from tui_chat.models.usage import Usage
from tui_chat.tokens.counter import media_tokens
from tui_chat.ui.chat.markdown import plain_rows
from tui_chat.ui.chat.rows import (
    BLANK,
    ClickAction,
    Row,
    indented,
    joined,
    one_row,
    safe,
    styled,
    wrap,
)
from tui_chat.ui.widgets.row_list import clipped

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.message import ReplyProgress

REFUSAL_SHOWN = 20_000
"""Characters of a refusal that are laid out; all of them are, each time that it grows."""
ATTACHMENTS_LISTED = 100
"""Attachments of a message that are listed."""

_MUTED = "  ◇ muted"
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3]|[^\s\u2e80-\u9fff\uac00-\ud7a3]+")
_SPEAKER_STYLE = {
    "user": "speaker-user",
    "assistant": "speaker-assistant",
    "system": "speaker-small",
    "tool": "speaker-small",
}

NO_SPEAKERS = SpeakerNames()


def count_words(text: str) -> int:
    """Count words; in scripts that write none apart, characters."""
    return len(_WORD.findall(text))


def format_duration(seconds: float) -> str:
    """Return a duration in few characters: 1.5 s, 12 s, 2 min 05 s."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


def day_of(entry: Entry) -> str:
    """Return the local day on which the message was written; empty if unknown."""
    time = _local_time(entry)
    return f"{time:%A} {time.day} {time:%B %Y}" if time else ""


# Header

_NARROW = 48
"""Cells below which a header has the time as its only fact."""


def above_rows(day: str, width: int, *, is_first: bool) -> list[Row]:
    """Lay out what separates a message from the one above it; `day` is given where a new day
    begins.
    """
    if is_first:
        return []
    blank = Row(is_bare=True)
    if not day:
        return [blank]
    label = safe(f" {day} ", "meta")
    side = styled("─" * max(2, (width - label.cell_length) // 2), "rule")
    rule = one_row(joined(side, label, side), width).content
    return [blank, Row(rule, is_bare=True), blank]


def header_rows(
    entry: Entry,
    width: int,
    progress: ReplyProgress | None,
    speakers: SpeakerNames = NO_SPEAKERS,
    *,
    above: Sequence[Row] = (),
    is_muted: bool = False,
) -> list[Row]:
    """Lay out the header of a message, below the rows `above`: who speaks at the left, which is cut
    if need be, and the facts at the right, which never are.

    `progress` is given for a streaming reply. A message is muted, too, if it goes with one that
    is.
    """
    message = entry.message
    name = one_line(speaker_of(entry, speakers), 80)
    if message.role == "user" and name == "You":
        name = "you"
    left = [safe(name, _SPEAKER_STYLE[message.role])]
    if message.role == "assistant" and entry.model and name != entry.model:
        left.append(safe(f"  {one_line(entry.model, 40)}", "meta"))
    if message.pinned:
        left.append(styled("  ◆ pinned", "pinned"))
    if is_muted:
        left.append(styled(f"  ◇ {_muted_words(entry)}", "muted-mark"))
    if (summary := message.about.summary) is not None:
        state = "sent instead of them" if summary.enabled else "off"
        left.append(styled(f"  ◆ {state}", "pinned" if summary.enabled else "meta"))
    if (brought := message.about.brought) is not None:
        source = one_line(brought.prompt.partition(" ")[0], 40) or "another branch"
        left.append(safe(f"  ◆ from {source}", "meta"))
    right: list[Content] = []
    if entry.siblings > 1 and width > 20:
        right += [*_version_switch(entry), Content("   ")]
    if progress is None:
        right.append(styled(" · ".join(_facts(entry, is_narrow=width < _NARROW)), "meta"))
    else:
        seconds = progress.seconds
        elapsed = f"{int(seconds)} s" if seconds < 60 else format_duration(seconds)
        right += [styled("● ", "live"), styled(elapsed, "meta")]
    facts, head = joined(*right), joined(*left)
    room = max(width - facts.cell_length - 2, 4)
    return [*above, Row(joined(head.truncate(room, ellipsis=True, pad=True), Content("  "), facts))]


def _muted_words(entry: Entry) -> str:
    message = entry.message
    if message.muted:
        return "muted, not sent"
    return f"muted with its {'call' if message.role == 'tool' else 'result'}, not sent"


def speaker_of(entry: Entry, speakers: SpeakerNames) -> str:
    """Return who a message is by: its own speaker, else the session's, else the model or “You”."""
    message = entry.message
    match message.role:
        case "assistant":
            return message.name or speakers.character or entry.model or "Assistant"
        case _ if message.about.summary is not None:
            count = message.about.summary.messages
            return f"Summary of {count:,} message{'s' * (count != 1)}"
        case "user":
            return message.name or speakers.user or "You"
        case "system":
            return message.name or "System"
        case "tool":
            name = message.tool_name
            untrusted = " · untrusted, from a server" if server_of(name) else ""
            return f"Result of {name}{untrusted}" if name else "Tool result"


def _version_switch(entry: Entry) -> list[Content]:
    """Lay out which of several versions this is, with arrows to the others."""
    is_first, is_last = entry.sibling == 0, entry.sibling >= entry.siblings - 1
    return [
        styled("‹ ", "meta" if is_first else "arrow", action=ClickAction("version", "-1")),
        styled(f"{entry.sibling + 1}/{entry.siblings}", "siblings"),
        styled(" ›", "meta" if is_last else "arrow", action=ClickAction("version", "1")),
    ]


def _facts(entry: Entry, *, is_narrow: bool) -> Iterator[str]:
    """Yield the facts about a message that is not streaming."""
    usage = entry.usage
    if not is_narrow and (usage.input is not None or usage.output is not None):
        yield _tokens(usage)
    if not is_narrow and entry.seconds is not None:
        yield format_duration(entry.seconds)
    if time := _local_time(entry):
        yield f"{time:%H:%M}"


def _tokens(usage: Usage) -> str:
    sent = "?" if usage.input is None else f"{usage.input:,}"
    received = "?" if usage.output is None else f"{usage.output:,}"
    return f"{sent} → {received} token{'s' * (usage.output != 1)}"


def _local_time(entry: Entry) -> datetime | None:
    stamp = entry.message.timestamp
    if stamp is None:
        return None
    try:
        return datetime.fromtimestamp(stamp, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return None


# Footer


def footer_rows(entry: Entry, parts: Sequence[MediaBlock], refusal: str, width: int) -> list[Row]:
    """Lay out what is below a message; `parts` and `refusal` are what has arrived of it."""
    rows: list[Row] = []
    places = [i for i, block in enumerate(entry.message.blocks) if isinstance(block, MediaBlock)]
    for index, part in enumerate(parts[:ATTACHMENTS_LISTED]):
        is_muted = index < len(places) and places[index] in entry.message.muted.blocks
        room = max(width - cell_len(_MUTED), 4) if is_muted else width
        label = clipped(f"▣ {describe_part(part)}", room)
        link = part.url if part.url.startswith(("https://", "http://")) else ""
        action = None if link or is_damaged(part) else ClickAction("view", str(index))
        content = safe(label, "muted" if is_muted else "quiet", link=link)
        if is_muted:
            content = joined(content, styled(_MUTED, "muted-mark"))
        rows.append(Row(content, action=action))
    if (more := len(parts) - ATTACHMENTS_LISTED) > 0:
        rows.append(Row(styled(f"▣ … {more:,} more attachments", "quiet")))
    if refusal:
        text = f"Declined: {refusal[:REFUSAL_SHOWN]}"
        rows += [BLANK, *plain_rows(text, width, "warning")]
        if (more := len(refusal) - REFUSAL_SHOWN) > 0:
            rows.append(Row(styled(f"… {more:,} more characters", "quiet")))
    rows += _ending(entry, width)
    if entry.cache_loss is not None:
        rows += _marked("!", "warning", one_line(entry.cache_loss.sentence, 300), width)
    if entry.unsaved:
        text = f"Not saved, r saves it again: {one_line(entry.unsaved, 300)}"
        rows += _marked("!", "warning", text, width)
    return rows


def describe_part(part: MediaBlock) -> str:
    """Return a part in a safe line: kind, name or type, size, pixels and estimated tokens."""
    facts = [one_line(describe(part), 80)]
    if pixels := pixels_of(part):
        facts.append(f"{pixels[0]:,} × {pixels[1]:,}")
    if not (part.text or is_damaged(part)):
        facts.append(f"~{media_tokens(part):,} tokens")
    about = " · ".join(filter(None, facts))
    return f"{part.media}  {about}" if about else part.media


def _ending(entry: Entry, width: int) -> list[Row]:
    """Lay out how a message ended, unless it ended normally."""
    match entry.status:
        case "streaming":
            return []
        case "stopped":
            text = "Stopped by you; the text received is kept."
            return _marked("■", "quiet", text, width)
        case "interrupted":
            text = "The program ended before the reply did; the text received is kept."
            return _fault("■", "warning", text, "", width, _buttons())
        case "failed":
            text = entry.error or "The reply failed."
            return _fault("✗", "error", text, entry.advice, width, _buttons(entry))
        case "complete":
            text = end_sentence(entry)
            if not text or entry.message.refusal:  # which is shown itself
                return []
            return _marked("■", "warning", text, width)


def _marked(mark: str, style: str, text: str, width: int) -> list[Row]:
    rows = wrap(safe(text, style), width - 2)
    return [BLANK, *indented(rows, styled(f"{mark} ", style))]


def _fault(
    mark: str, style: str, text: str, advice: str, width: int, buttons: list[Content]
) -> list[Row]:
    """Lay out what happened, what to do, and the buttons that do it."""
    words = re.split(r"`(.*?)`", one_line(advice, 1000))  # every second one is code
    pieces = [safe(text, "code" if n % 2 else "") for n, text in enumerate(words)]
    about = safe(one_line(text, 1000), "strong")
    gap = [Content(" ")] if advice else []
    rows = indented(wrap(joined(about, *gap, *pieces), width - 2), styled(f"{mark} ", style))
    while buttons and joined(*buttons).cell_length > width:
        buttons = buttons[:-1]
    return [BLANK, *rows, BLANK, Row(joined(*buttons), action=ClickAction("retry"))]


def _buttons(failed: Entry | None = None) -> list[Content]:
    """Lay out the buttons below a fault; a failed reply also changes model, and first the key or
    the endpoint if the error is about it.
    """
    buttons = [("Regenerate", ClickAction("retry"))]
    if failed is not None:
        buttons.append(("Switch model", ClickAction("model")))
        name, words = failed.endpoint, f"{failed.error} {failed.advice}"
        if not name or name.startswith(OFFLINE_ENDPOINT):
            pass
        elif "key" in words.casefold():
            action = ClickAction("run", f"configuration.enter_key({name!r})")
            buttons.insert(0, ("Enter API key…", action))
        elif "endpoint" in words:
            action = ClickAction("run", f"configuration.edit_endpoints({name!r})")
            buttons.insert(0, ("Edit endpoint…", action))
    return [styled(f"[ {label} ]  ", "button", action=action) for label, action in buttons]
