"""Several replies in one stream: one that begins after the end of another continues it, one that
begins before that replaces it.
"""

from __future__ import annotations

from tests.support.reply_streams import fold
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import MOST_REPLACED, TEXT_SIZE, advance
from tui_chat.models.stream_events import (
    Finished,
    ReasoningDelta,
    Restarted,
    Started,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from tui_chat.providers.key_mask import KeyMask

# Folding


def test_a_continued_reply_keeps_what_it_continues() -> None:
    """A stream that goes on from the user's text must not lose that text."""
    reply = advance(Reply(begun=6), TextDelta("Once. "))
    for event in (TextDelta("Bad"), Restarted(), TextDelta("Good.")):
        reply = advance(reply, event)
    assert (reply.text, reply.replaced) == ("Once. Good.", ("Bad",))


def test_restarts_without_end_come_to_the_limit_of_a_reply() -> None:
    reply, piece = Reply(), "x" * (TEXT_SIZE // 100)
    for _ in range(100):
        for event in (ReasoningDelta(0, "Hm"), ToolCallDelta(0, "a", "b"), TextDelta(piece)):
            reply = advance(reply, event)
        reply = advance(reply, Restarted())
    assert reply.excess
    assert len(reply.replaced) <= MOST_REPLACED
    assert sum(map(len, reply.replaced)) <= TEXT_SIZE + 2 * 100


def test_a_key_is_not_looked_for_across_two_attempts() -> None:
    mask = KeyMask("sk-0123456789abcdef")
    events: list[StreamEvent] = [
        Started("m"),
        TextDelta("say sk-01234"),
        Restarted(),
        TextDelta("56789abcdef"),
        Finished("stop", "stop"),
    ]
    reply = fold([*mask.mask_events(events), *mask.close()])
    assert (reply.text, reply.replaced) == ("56789abcdef", ("say sk-01234",))
