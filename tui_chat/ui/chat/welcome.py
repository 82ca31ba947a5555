"""An empty chat: what this is, what can be done now, and the last sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.cells import cell_len

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.text_lines import (
    BLANK,
    ClickAction,
    TextLine,
    TextRun,
    clipped,
    indented,
    safe_run,
    wrap,
)
from tui_chat.ui.key_names import DEFAULT_KEYS, NO_KEY

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

RecentSessions: TypeAlias = Sequence[tuple[str, str, str]]
"""Id, title and time of the last sessions, the newest first."""

MAX_RECENT = 3
"""Last sessions that are shown."""
MAX_PROVIDERS = 2
"""Providers to offer at most."""

TITLE, PROMISE = "tui-chat", "A chat that shows the exact request before it is sent."
TYPING = "Type below: Enter sends, / finds a command, @ attaches a file."
_BAR = TextRun("▎ ", ("user-bar",))


class Offer(NamedTuple):
    """Something to do now: a key or command, its effect, and the action that a click runs."""

    key: str
    words: str
    action: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """What an empty chat shows."""

    practice_model: str = ""
    """The name of the built-in model that answers; empty for a provider's."""
    offers: tuple[Offer, ...] = ()
    recent: RecentSessions = ()


def welcome(
    model: str,
    is_offline: bool,
    with_key: Sequence[Endpoint] = (),
    keys: Mapping[str, str] = DEFAULT_KEYS,
    recent: RecentSessions = (),
) -> Welcome:
    """Return the view of an empty chat. `with_key`: endpoints with a key; `keys`: by action."""
    choose = "sessions.choose_model"
    inspector = "show or hide the request"
    offers = [
        Offer(keys["inspector"], inspector, "panes.toggle_area('inspector')"),
        Offer(keys["model"], "another model", choose),
        Offer(keys["palette"], "every command: try title, theme, cost", "search_commands"),
    ]
    if is_offline:
        ready = (
            Offer(f"/model {endpoint.name}", "its key is set", choose)
            for endpoint in with_key[:MAX_PROVIDERS]
        )
        offers = [
            *ready,
            Offer("/key", "the API key of a provider", "configuration.enter_key('')"),
            Offer(keys["model"], "another model, also one on this machine", choose),
            offers[0],
        ]
    offers = [offer for offer in offers if offer.key != NO_KEY]
    return Welcome(model if is_offline else "", tuple(offers), tuple(recent))


def welcome_lines(shown: Welcome, width: int) -> list[TextLine]:
    """Lay out what an empty chat shows; a click on a key or a session does what it says."""
    lines = indented(wrap((TextRun(TITLE, ("heading-second",)),), width - 2), (_BAR,), (_BAR,))
    lines += indented(wrap((TextRun(PROMISE, ("quiet",)),), width - 2), (_BAR,), (_BAR,))
    lines.append(BLANK)
    if shown.practice_model:
        words = " is a practice model: it needs no key and no network."
        name = safe_run(one_line(shown.practice_model, 40), "strong")
        lines += [*wrap((name, TextRun(words, ("quiet",))), width), BLANK]
    column = max((cell_len(offer.key) for offer in shown.offers), default=0) + 4
    for offer in shown.offers:
        lines += _offer_lines(offer, column, width)
    lines += [BLANK, *wrap((TextRun(TYPING, ("quiet",)),), width)]
    return lines + _recent_lines(shown.recent, width)


def _offer_lines(offer: Offer, column: int, width: int) -> list[TextLine]:
    action = ClickAction("run", offer.action)
    key, words = one_line(offer.key, 40), TextRun(offer.words, ("button",), action=action)
    if width - column < 12:  # too narrow for two columns
        return wrap((TextRun(f" {key} ", ("key",), action=action), TextRun(" "), words), width)
    chip = f" {key} ".ljust(column - 2 - cell_len(key) + len(key))
    first = TextRun(chip, ("key",), action=action), TextRun("  ")
    return indented(wrap((words,), width - column), first, (TextRun(" " * column),))


def _recent_lines(recent: RecentSessions, width: int) -> list[TextLine]:
    if not recent:
        return []
    lines = [BLANK, TextLine((TextRun("Last sessions", ("strong",)),))]
    room = max(width - max(len(moment) for *_, moment in recent) - 2, 1)
    titles = [clipped(one_line(title), room) for _, title, _ in recent]
    column = max(map(cell_len, titles)) + 2
    for (session_id, _, moment), title in zip(recent, titles, strict=True):
        action = ClickAction("run", f"sessions.open({session_id!r})")
        gap = TextRun(" " * (column - cell_len(title)))
        link = TextRun(title, ("link",), action=action)
        lines.append(TextLine((link, gap, safe_run(moment, "meta"))))
    return lines
