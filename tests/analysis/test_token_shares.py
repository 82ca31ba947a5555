from __future__ import annotations

from dataclasses import replace

from tests.analysis.test_cache_forecast import HISTORY, STYLE, talk
from tests.context.requests import ENDPOINT, LETTERS
from tui_chat.analysis import HistoryPart, Share, ShareCalculator
from tui_chat.context import Inputs, build_context
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.tokens import TURN_OVERHEAD


def envelope(
    history: tuple[Message, ...], limit: int | None = None, draft: str = "draft"
) -> ChatEnvelope:
    inputs = Inputs(
        ENDPOINT,
        Preset("p", (STYLE, HISTORY)),
        history,
        draft,
        context_limit=limit,
        reply_reserve=10,
    )
    return build_context(inputs, lambda _: LETTERS)


def test_every_token_is_in_one_share_or_in_the_framing() -> None:
    found = envelope(talk("aa", "bbb"))
    shares = ShareCalculator()(found)
    assert shares.shares == (
        Share(OriginKind.PRESET, len("Be brief.") + TURN_OVERHEAD, 1),
        Share(OriginKind.HISTORY, 5 + 2 * TURN_OVERHEAD, 2, HistoryPart.CONVERSATION),
        Share(OriginKind.DRAFT, 5 + TURN_OVERHEAD, 1),
    )
    assert found.budget is not None
    assert shares.used == found.budget.total
    assert (shares.limit, shares.free, shares.reserve) == (None, None, 0)


def test_used_reserve_and_free_are_the_limit() -> None:
    shares = ShareCalculator()(envelope(talk("aa", "bbb"), limit=100))
    assert shares.limit == 100
    assert shares.used + shares.reserve + (shares.free or 0) == 100


def test_the_oldest_unpinned_message_drops_out_next() -> None:
    history = talk("aa", "bbb", "c", "d")
    pinned = (replace(history[0], pinned=True), *history[1:])
    out = ShareCalculator()(envelope(pinned, limit=100), {"m0"}).next_out
    assert out is not None
    assert out.origin.id == "m1"


def test_without_history_nothing_drops_out() -> None:
    assert ShareCalculator()(envelope(())).next_out is None
    question = talk("aa")
    assert question[-1].role == "user"
    assert ShareCalculator()(envelope(question, limit=100, draft="")).next_out is None
