"""An empty chat: what this is, and what can be done now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.chat.rows import (
    BLANK,
    ClickAction,
    Row,
    indented,
    joined,
    safe,
    styled,
    wrap,
)
from tui_chat.ui.keys import DEFAULT_KEYS, NO_KEY

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

MAX_PROVIDERS = 2
"""Providers to offer at most."""

PROMISE = "tui-chat shows the exact request before it is sent."


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
    about: str = ""
    """What that model answers, as a phrase; empty if it is not known."""
    offers: tuple[Offer, ...] = ()


def welcome(
    model: str,
    is_offline: bool,
    with_key: Sequence[Endpoint] = (),
    keys: Mapping[str, str] = DEFAULT_KEYS,
    *,
    about: str = "",
    has_import: bool = False,
) -> Welcome:
    """Return the view of an empty chat. `with_key`: endpoints with a key; `keys`: by action;
    `about`: what a practice model answers; `has_import`: True if chats can be imported.
    """
    choose = "sessions.choose_model"
    offers = [
        Offer(keys["model"], "switch model, also local ones", choose),
        Offer(keys["inspector"], "show or hide the request", "panes.toggle_area('inspector')"),
    ]
    if is_offline:
        ready = (
            Offer(f"/model {endpoint.name}", "its key is set", choose)
            for endpoint in with_key[:MAX_PROVIDERS]
        )
        key = Offer("/key", "connect OpenAI, Anthropic, Gemini …", "configuration.enter_key('')")
        offers = [*ready, key, *offers]
    if has_import:
        words = "bring ChatGPT, Claude, SillyTavern chats"
        offers.append(Offer("/import", words, "plugins.import('')"))
    offers += [
        Offer("/ @", "commands, files", "search_commands"),
        Offer(keys["help"], "all keys", "help"),
    ]
    offers = [offer for offer in offers if offer.key != NO_KEY]
    return Welcome(model if is_offline else "", about, tuple(offers))


def welcome_rows(shown: Welcome, width: int) -> list[Row]:
    """Lay out what an empty chat shows; a click on a key does what it says."""
    rows = [*wrap(styled(PROMISE, "strong"), width), BLANK]
    if shown.practice_model:
        name = safe(one_line(shown.practice_model, 40), "strong")
        rows += wrap(joined(name, styled(" is a practice model: no key, no network.")), width)
        rows += wrap(safe(f"It {shown.about}."), width) if shown.about else []
        rows.append(BLANK)
    column = max((cell_len(offer.key) for offer in shown.offers), default=0) + 2
    for offer in shown.offers:
        rows += _offer_rows(offer, column, width)
    return rows


def _offer_rows(offer: Offer, column: int, width: int) -> list[Row]:
    action = ClickAction("run", offer.action)
    key = styled(one_line(offer.key, 40), "key", action=action)
    words = styled(offer.words, "quiet", action=action)
    if width - column < 12:  # too narrow for two columns
        return wrap(joined(key, Content(" "), words), width)
    return indented(wrap(words, width - column), key.pad_right(column - key.cell_length))
