from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import (
    CacheBreak,
    Forecast,
    Idle,
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
