"""Why requests of a session lost the prompt cache: causes, the most expensive first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import short_number
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from tui_chat.analysis.cache_loss import CacheCause
    from tui_chat.workspace.usage import UsageSum
    from tui_chat.workspace.workspace import Workspace


async def ask_cache_cause(app: App[Any], workspace: Workspace) -> Origin | None:
    """Show why requests of the active session lost the cache. Return what broke it, or the reply to
    the last request that lost it, if the user chose a cause. Raises StoreError.
    """
    session = workspace.state.session
    if session is None:
        app.notify("There is no request yet.")
        return None
    causes = await workspace.cache.causes(session.session_id)
    usage = await workspace.usage.session(session.session_id)
    if not causes:
        app.notify(
            f"No request of this session lost the cache, as far as is known. {served(usage)}"
        )
        return None
    choices = [
        (str(number), figures(cause), f"{cause.sentence} {cause.advice}".strip())
        for number, cause in enumerate(causes)
    ]
    chosen = await ask(app, f"Lost prompt cache. {served(usage)}", choices)
    if chosen is None:
        return None
    cause = causes[int(chosen)]
    return cause.origin or Origin(OriginKind.HISTORY, cause.entry_id)


def figures(cause: CacheCause) -> str:
    """Return the cost, the tokens and the number of losses of a cause."""
    cost = "" if cause.cost is None else f"${cause.cost:.4f} · "
    times = f" · {cause.times:,} times" if cause.times > 1 else ""
    return f"{cost}{short_number(cause.tokens)} tokens{times}"


def served(usage: UsageSum) -> str:
    """Return the share of the input that caches served."""
    if not usage.input:
        return "Providers have reported no input yet."
    share = usage.cached / usage.input
    return f"{short_number(usage.input)} input tokens, {share:.0%} of them cached"
