import pytest

from tui_chat.models.blocks import Extras, OpaqueBlock, keys_of
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import (
    Finished,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    Started,
    StreamEvent,
    TextDelta,
    TokensReported,
    ToolCallDelta,
    UsageReport,
    advance,
)
from tui_chat.models.token_probabilities import TokenProbability, unpack_tokens
from tui_chat.models.usage import Usage


def folded(*events: StreamEvent) -> Reply:
    reply = Reply()
    for event in events:
        reply = advance(reply, event)
    return reply


def other(size: int) -> OtherBlock:
    return OtherBlock(OpaqueBlock(Protocol.ANTHROPIC, "x", "d" * (size - 2)), size)


def test_events_fold_into_one_reply():
    reply = folded(
        Started("m-1", "r-1"),
        ReasoningDelta(0, text="Let me "),
        ReasoningDelta(0, text="see.", signature="sig"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolCallDelta(0, id="c1", name="look", arguments='{"a"'),
        ToolCallDelta(0, arguments=":1}"),
        UsageReport(Usage(input=5, output=1)),
        UsageReport(Usage(output=7)),
        Finished("stop", "end_turn"),
    )
    assert (reply.text, reply.thought, reply.model, reply.id) == (
        "Hello",
        "Let me see.",
        "m-1",
        "r-1",
    )
    assert reply.usage == Usage(input=5, output=7)
    message = reply.message(Protocol.ANTHROPIC, id="x")
    assert message.content == "Hello"
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls] == [("c1", "look", '{"a":1}')]
    assert keys_of(message.reasoning[0]) == {"signature": "sig"}


def test_a_new_reply_is_empty():
    assert folded(Started("m"), UsageReport(Usage(input=1))).is_empty
    assert not folded(TextDelta("x")).is_empty


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_chat.models.reply.REPLY_SIZE", 20)
    monkeypatch.setattr("tui_chat.models.reply.MOST_PIECES", 4)


def test_a_reply_is_cut_at_its_limit(small: None):
    found = folded(TextDelta("a" * 15), ReasoningDelta(0, "b" * 9), TextDelta("c"))
    assert (found.text, found.thought, found.size) == ("a" * 15, "b" * 5, 20)
    assert found.excess == "The reply is longer than 20 characters; the rest was dropped."
    ended = advance(advance(found, UsageReport(Usage(output=7))), Finished("stop", "stop"))
    assert ended.usage.output == 7
    assert ended.finish is not None
    assert folded(other(30)).pieces == ()
    assert folded(RefusalDelta("e" * 21)).excess
    assert not folded(TextDelta("a" * 20)).excess


def test_pieces_have_a_limit(small: None):
    found = folded(*(TextDelta("", Extras(Protocol.GEMINI), is_whole=True) for _ in range(5)))
    assert len(found.pieces) == 4
    assert found.excess == "The reply has more than 4 parts; the first 4 are kept."


def test_the_tier_and_the_writes_of_an_hour_are_not_forgotten_by_later_usage():
    reply = advance(Reply(), UsageReport(Usage(5, 1, 0, 4, cache_write_1h=3, tier="flex")))
    reply = advance(reply, UsageReport(Usage(output=9)))
    assert (reply.usage.cache_write_1h, reply.usage.tier) == (3, "flex")
    assert advance(reply, UsageReport(Usage(output=9, tier="default"))).usage.tier == "default"


def test_tokens_have_a_limit_that_does_not_end_the_reply(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tui_chat.models.reply.PACKED_SIZE", 40)
    token = TokenProbability("token", -0.5)
    reply = advance(Reply(), TokensReported((token,) * 100))
    reply = advance(reply, TextDelta("more"))
    reply = advance(reply, TokensReported((token,)))

    message = reply.message(Protocol.OPENAI_CHAT)
    assert reply.excess == ""
    assert message.content == "more"
    assert unpack_tokens(message.about.tokens) == (token,) * 3


def test_a_whole_reply_that_continues_a_text_keeps_its_other_blocks():
    call = ToolCallDelta(0, "c", "f", "{}")
    reply = folded(TextDelta("lo."), call).continuing("Hel")
    assert [block.kind for block in reply.message(Protocol.ANTHROPIC).blocks] == ["text", "call"]
    assert reply.text == "Hello."
    thinking = folded(ReasoningDelta(0, "Hm."), TextDelta("lo.")).continuing("Hel")
    assert (thinking.text, thinking.thought) == ("Hello.", "Hm.")
