from tui_chat.model.endpoint import Protocol
from tui_chat.model.reply import (
    Finished,
    ReasoningDelta,
    Reply,
    Rope,
    Started,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
    advance,
)


def folded(*events: StreamEvent) -> Reply:
    reply = Reply()
    for event in events:
        reply = advance(reply, event)
    return reply


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
    assert message.semantics.reasoning[0].signature == "sig"


def test_a_rope_is_the_string_it_was_grown_from():
    rope = Rope()
    pieces = [f"piece {n} " * (n % 50) for n in range(500)]
    for piece in pieces:
        rope = rope.add(piece)
    assert str(rope) == "".join(pieces)
    assert len(rope) == len("".join(pieces))
    assert len(rope.tail) < 4096


def test_nothing_has_arrived_until_something_has():
    assert folded(Started("m"), UsageReport(Usage(input=1))).is_empty
    assert not folded(TextDelta("x")).is_empty
