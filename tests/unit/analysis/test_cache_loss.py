from __future__ import annotations

from decimal import Decimal

from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import CacheBreak, Forecast
from tui_chat.analysis.cache_loss import (
    Idle,
    cache_causes,
    cache_loss,
    cache_seconds,
    reported_loss,
)
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import CacheLoss, Usage

CHAT, ANTHROPIC = Protocol.OPENAI_CHAT, Protocol.ANTHROPIC
GROWN = Forecast(9000, 8000, 8000, 1000, CacheBreak("grown"), 8000)
CLOCK = Origin(
    OriginKind.MACRO, "time", "{{time}}", within=Origin(OriginKind.PRESET, "main", "Main prompt")
)
CHANGED = Forecast(9000, 10, 0, 8990, CacheBreak("changed", CLOCK), 8000)


@each_row(
    ("protocol", "before", "now", "lost"),
    [
        (CHAT, Usage(8000, 5, cached=0), Usage(9000, 5, cached=7936), 0),
        (CHAT, Usage(8000, 5, cached=0), Usage(9000, 5, cached=0), 8000),
        (CHAT, Usage(900, 5, cached=0), Usage(9000, 5, cached=0), 0),
        (CHAT, Usage(8000, 5), Usage(9000, 5, cached=0), None),
        (CHAT, Usage(8000, 5, cached=0), Usage(9000, 5), None),
        (Protocol.GEMINI, Usage(8000, 5, cached=4096), Usage(9000, 5), 8000),
        (Protocol.GEMINI, Usage(8000, 5), Usage(9000, 5), None),
        (ANTHROPIC, Usage(8000, 5, 3000, 4000), Usage(9000, 5, cached=3000), 4000),
        (ANTHROPIC, Usage(8000, 5, None, None), Usage(9000, 5, cached=3000), None),
    ],
)
def test_usage_says_how_much_was_lost(
    protocol: Protocol, before: Usage, now: Usage, lost: int | None
):
    assert reported_loss(protocol, before, now) == lost


@each_row(
    ("idle", "kind"),
    [(Idle(700, 600), "expired"), (Idle(60, 600), "unused"), (Idle(9999, None), "unused")],
)
def test_a_request_that_only_grew_lost_the_cache_by_time_or_for_no_known_reason(
    idle: Idle, kind: str
):
    before, now = Usage(8000, 5, cached=0), Usage(9000, 5, cached=0)
    loss = cache_loss(GROWN, CHAT, before, now, None, idle)
    assert loss is not None
    assert (loss.kind, loss.tokens, loss.origin) == (kind, 8000, None)


def test_a_part_that_a_grown_request_missed_is_no_loss():
    before, now = Usage(8000, 5, cached=0), Usage(9000, 5, cached=6500)
    assert cache_loss(GROWN, CHAT, before, now, None, Idle(1, 600)) is None


def test_without_reported_usage_the_forecast_says_how_much():
    loss = cache_loss(CHANGED, CHAT, Usage(8000), Usage(9000), None, Idle(1, 600))
    assert loss is not None
    assert (loss.tokens, loss.origin) == (7990, CLOCK)
    assert loss.cause == "Macro “{{time}}” in preset message “Main prompt” has changed."
    assert unpack(CacheLoss, pack(loss)) == loss


def test_an_anthropic_cache_of_an_hour_is_known_by_its_mark():
    body = b'{"cache_control": {"type":"ephemeral", "ttl": "1h"}}'
    assert cache_seconds(ANTHROPIC, body) == 3600
    assert cache_seconds(ANTHROPIC, b"{}") == 300
    assert cache_seconds(Protocol.GEMINI, b"{}") is None


def test_losses_are_summed_by_cause_the_most_expensive_first():
    clock = CacheLoss(1000, "Macro has changed.", Decimal("0.25"), "changed", CLOCK)
    gone = "The cache had expired since the last request."
    expired = CacheLoss(9000, gone, Decimal("0.50"), "expired")
    losses = [
        ("r1", clock),
        ("r2", expired),
        ("r3", clock),
        ("r4", CacheLoss(9000, gone, None, "expired")),
        ("r5", CacheLoss(100, "An old sentence.")),
        ("r6", CacheLoss(100, "An old sentence.")),
        ("r7", clock),
    ]
    causes = cache_causes(losses)
    assert [(c.times, c.tokens, c.cost, c.entry_id) for c in causes] == [
        (3, 3000, Decimal("0.75"), "r7"),
        (2, 18000, Decimal("0.50"), "r4"),
        (2, 200, None, "r6"),
    ]
    assert causes[0].origin == CLOCK
    assert "expired since" in causes[1].sentence


def test_messages_that_left_the_window_are_one_cause():
    def gone(id: str) -> CacheLoss:
        return CacheLoss(10, "", None, "gone", Origin(OriginKind.HISTORY, id, id))

    (cause,) = cache_causes([("r1", gone("m1")), ("r2", gone("m2"))])
    assert (cause.times, cause.tokens) == (2, 20)
