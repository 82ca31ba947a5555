"""What a cache will have, and what was lost of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, get_args

import pytest
import splintr
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.contexts import LETTERS
from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import (
    BreakKind,
    CacheBreak,
    Forecast,
    Idle,
    cache_loss,
    cache_seconds,
    forecast_cache,
    reported_loss,
)
from tui_chat.analysis.captured_request import read_captured
from tui_chat.analysis.prompt import prompt_of
from tui_chat.analysis.token_shares import token_shares
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.blocks import Extras
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.usage import CacheLoss, Usage
from tui_chat.tokens import (
    NO_CORRECTION,
    REQUEST_OVERHEAD,
    TURN_OVERHEAD,
    Correction,
    Counter,
    counter_for,
)
from tui_chat.ui.inspector.lines import forecast_sentences

HISTORY = PresetMessage("history", role="user", type="chat_history")
STYLE = PresetMessage("style", role="system", content="Be brief.", name="Style")
NOTE = PresetMessage(
    "note", role="user", content="[Stay in character.]", name="Author's note", insertion_point=-2
)
PROSE = (
    "Unbelievably, the harbourmasters' lighthouses aren't lit: 1234567890 antidisestablishment"
    "arianism  \n\n  燈塔在港口的北邊很遠很遠。👩‍👩‍👧 naïveté aaaaaaaaaaaaaaaaaaaaaaaa "
    "==--==--== Ünïcödé"
)
"""Of which almost every cut goes through a token."""
O200K = counter_for("gpt-4o")
ROUGH = Counter("letters", False, len)


def endpoint(protocol: Protocol) -> Endpoint:
    return Endpoint("here", protocol, "https://here.invalid/v1", models=("m",))


def composed(
    history: Sequence[Message],
    draft: str = "",
    *preset: PresetMessage,
    protocol: Protocol = Protocol.OPENAI_CHAT,
    model: str = "m",
    counter: Counter = LETTERS,
    correction: Correction = NO_CORRECTION,
) -> Composed:
    at = replace(endpoint(protocol), models=(model,))
    inputs = Inputs(
        at, Preset("p", preset or (STYLE, HISTORY)), tuple(history), draft, correction=correction
    )
    return compose(inputs, lambda _: counter)


def talk(*texts: str) -> tuple[Message, ...]:
    return tuple(
        Message.of("assistant" if index % 2 else "user", text, f"m{index}")
        for index, text in enumerate(texts)
    )


def forecast(last: Composed | None, now: Composed) -> Forecast:
    return forecast_cache(last, now, LETTERS)


def measured(last: Composed, now: Composed) -> int:
    """The common prefix as a stranger would measure it: token for token of the texts in the
    bodies, a message's framing at its end.
    """
    pairs = zip(_tokens(last), _tokens(now), strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), -1)


def _tokens(request: Composed) -> Iterator[object]:
    body = json.loads(request.payload.body)
    system = body.get("system") or body.get("systemInstruction") or body.get("instructions")
    for message in [
        *([system] if system else []),
        *(body.get("messages") or body.get("contents") or body.get("input") or []),
    ]:
        role = message.get("role", "") if isinstance(message, dict) else ""
        for text in _texts(message):
            for token in encode(text):
                yield role, token
        yield from [(role, "frame")] * TURN_OVERHEAD
    yield object()  # so that two that end together differ here


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item)
    else:
        for key, value in node.items():
            if key not in ("role", "type"):
                yield from _texts(value)


encode = splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary


steps = st.lists(
    st.sampled_from(["type", "send", "send", "send", "again", "note", "move", "role", "fork"]),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.sampled_from(list(Protocol)), steps, st.booleans(), st.booleans())
def test_the_forecast_is_the_measured_common_prefix(
    protocol: Protocol, does: list[str], noted: bool, marked: bool
) -> None:
    talked = replace(HISTORY, cache_control="5m" if marked else None)
    numbers = count()
    note = NOTE
    style = STYLE
    history: list[Message] = []
    draft = "Hello"
    last: Composed | None = None
    for step in does:
        match step:
            case "type":
                draft = PROSE[: 5 + 17 * next(numbers) % len(PROSE)]
            case "note":
                note = replace(note, content=PROSE[: 40 + 23 * next(numbers) % 150])
            case "move":
                note = replace(note, insertion_point=-1 - next(numbers) % 4)
            case "role":
                style = replace(style, content=PROSE[: 1 + 31 * next(numbers) % len(PROSE)])
            case "fork":
                del history[-3:]
            case "again":
                del history[-1:]
            case _:
                pass
        now = composed(
            history,
            draft,
            *([style, talked, note] if noted else [style, talked]),
            protocol=protocol,
            counter=O200K,
        )
        found = forecast_cache(last, now, O200K)
        assert now.envelope.budget is not None
        assert found.total == now.envelope.budget.total == token_shares(now.envelope).used
        assert prompt_of(now, O200K).total + REQUEST_OVERHEAD == found.total
        assert found.after == prompt_of(now, O200K).total - found.common
        assert found.common == (measured(last, now) if last else 0)
        assert found.served <= found.common <= found.total
        if step == "send":
            last = now
            number = next(numbers)
            history += [
                Message.of("user", draft, f"u{number}"),
                Message.of("assistant", f"Reply {number}", f"a{number}"),
            ]
            draft = f"Next {number}"


def test_a_corrected_estimate_is_the_same_figure_everywhere() -> None:
    correction = NO_CORRECTION.after(1000, 1130)
    deep = [replace(NOTE, id=f"n{n}", content="x" * (n + 3)) for n in range(9)]
    made = [
        composed(talk("a", "b"), f"c{end}", STYLE, *deep, counter=ROUGH, correction=correction)
        for end in ("", "d")
    ]
    counter = ROUGH.corrected(correction)
    now = made[1].envelope
    assert now.budget is not None
    assert now.budget.ratio == 1.13
    assert now.budget.total == sum(now.tokens) + REQUEST_OVERHEAD == token_shares(now).used
    assert prompt_of(made[1], counter).total + REQUEST_OVERHEAD == now.budget.total
    found = forecast_cache(made[0], made[1], counter)
    assert found.total - found.common == now.tokens[-1] - counter.count("c") + REQUEST_OVERHEAD


def test_an_authors_note_at_a_depth_breaks_the_prefix() -> None:
    preset = (STYLE, HISTORY, NOTE)
    last = composed(talk("a", "b", "c", "d"), "e", *preset)
    found = forecast(last, composed(talk("a", "b", "c", "d", "e", "f"), "g", *preset))
    assert found.at.kind == "moved"
    assert found.at.origin is not None
    assert found.at.origin.id == "note"
    assert "“Author's note” has moved" in found.sentence
    assert f"{found.after:,} tokens" in found.sentence


def test_a_lore_entry_is_named_and_not_its_book() -> None:
    def sent(*entries: LorebookEntry) -> Composed:
        book = Lorebook("Team facts", entries)
        inputs = Inputs(endpoint(Protocol.OPENAI_CHAT), Preset("p"), talk("Hi.", "Yes."), "And?")
        return compose(replace(inputs, lorebooks=(book,)))

    pool = LorebookEntry("pool", "Wet.", name="Pool", constant=True)
    found = forecast(sent(), sent(pool))
    assert found.sentence.startswith("Lore entry “Pool” was added")
    found = forecast(sent(pool), sent(replace(pool, content="Wetter.")))
    assert found.sentence.startswith("Lore entry “Pool” has changed")


def test_an_earlier_cache_mark_still_serves_its_prefix() -> None:
    preset = (STYLE, replace(HISTORY, cache_control="5m"))
    last = composed(talk("a", "b"), "c", *preset, protocol=Protocol.ANTHROPIC)
    now = composed(talk("a", "b", "c", "d"), "e", *preset, protocol=Protocol.ANTHROPIC)
    found = forecast(last, now)
    assert found.at.kind == "grown"
    assert found.served == found.common - (1 + TURN_OVERHEAD) - TURN_OVERHEAD


@each_row("protocol", list(Protocol))
def test_only_anthropic_needs_a_cache_mark(protocol: Protocol) -> None:
    last = composed(talk("a", "b"), "c", protocol=protocol)
    found = forecast(last, composed(talk("a", "b", "c", "d"), "e", protocol=protocol))
    assert found.common > 0
    assert found.served == (0 if protocol is Protocol.ANTHROPIC else found.common)


TOOLS = [
    {"name": name, "description": f"{name} " * 100, "input_schema": {"type": "object"}}
    for name in ("one", "two")
]


@each_row(
    ("tools", "common", "sentence"),
    [
        ([TOOLS[0]], 100, "Tool “two” was removed"),
        ([*TOOLS, {"name": "three", "input_schema": {}}], 200, "Tool “three” was added"),
        (TOOLS[::-1], 0, "Tool “two” has moved"),
        ([TOOLS[0], {"name": "two", "input_schema": {}}], 100, "Tool “two” has changed"),
    ],
    ids=["gone", "added", "reordered", "changed"],
)
def test_tools_are_part_of_the_prompt(tools, common: int, sentence: str):
    def request(tools) -> Composed:
        messages = [{"role": "user", "content": "word " * 500}]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, "tools": tools}
        captured = read_captured(json.dumps(body))
        return captured.composed(Endpoint("there", captured.protocol, "https://there.example"))

    counter = counter_for("claude-sonnet-4-5")
    forecast = forecast_cache(request(TOOLS), request(tools), counter)
    assert common <= forecast.common < common + 60
    assert forecast.after > 500
    assert forecast.sentence.startswith(sentence)
    assert forecast_cache(request(TOOLS), request(TOOLS), counter).after == 0


@each_row("protocol", Protocol)
def test_a_new_first_message_is_named_although_the_draft_became_history(protocol: Protocol) -> None:
    last = composed((), "Hello there", HISTORY, protocol=protocol)
    now = composed(talk("Hello there", "Hi"), "", NOTE_FIRST, HISTORY, protocol=protocol)
    found = forecast(last, now)
    assert found.common < found.total // 2
    assert found.at.kind == "added"
    assert found.sentence.startswith("Preset message “Opening” was added: ")
    assert found.lost > 0


@each_row("protocol", Protocol)
def test_a_draft_that_a_message_follows_is_no_whole_request(protocol: Protocol) -> None:
    last = composed((), "Hello", HISTORY, NOTE_LAST, protocol=protocol)
    now = composed(talk("Hello", "Hi"), "More", HISTORY, NOTE_LAST, protocol=protocol)
    assert forecast(last, now).at.kind == "added"


NOTE_FIRST = PresetMessage("opening", role="user", content="A play.", name="Opening")
NOTE_LAST = PresetMessage("closing", role="user", content="Stay brief.", name="Closing")


# Why the common part ends: two requests that make a sentence true, and two that must not show it.

TALK = talk("a", "b")


def line(name: str, content: str = "") -> PresetMessage:
    return PresetMessage(name, role="user", content=content or f"({name})", name=name)


A, B, C = map(line, "ABC")


def sent(*lines: PresetMessage, draft: str = "x") -> Composed:
    return composed(TALK, draft, *lines, HISTORY)


def kept(request: Composed) -> Composed:
    rest = Extras(Protocol.OPENAI_RESPONSES, keys={"previous_response_id": "resp_1"})
    return replace(request, envelope=replace(request.envelope, rest=rest))


def elsewhere(request: Composed) -> Composed:
    return replace(request, endpoint=replace(request.endpoint, name="elsewhere"))


SAME = (sent(A), sent(A))
OTHER_CACHE = "The last request went to another model or endpoint, which has its own cache."
KEPT = "The provider keeps earlier messages, so that what its cache serves is not known."
CAUSES: dict[
    str, list[tuple[tuple[Composed | None, Composed], tuple[Composed | None, Composed], str]]
] = {
    "first": [
        ((None, sent(A)), SAME, "There is no earlier request of this session to compare with.")
    ],
    "model": [
        ((composed(TALK, "x", A, HISTORY, model="n"), sent(A)), SAME, OTHER_CACHE),
        ((elsewhere(sent(A)), sent(A)), SAME, OTHER_CACHE),
    ],
    "kept": [
        ((sent(A), kept(sent(B))), (sent(A), sent(B)), KEPT),
        ((kept(sent(A)), sent(B)), (sent(A), sent(B)), KEPT),
    ],
    "grown": [
        (SAME, (sent(A), sent(B)), "It begins with the whole last request."),
        (
            (sent(A), composed(talk("a", "b", "x", "y"), "z", A, HISTORY)),
            (sent(A), composed(talk("a", "b", "w", "y"), "z", A, HISTORY)),
            "It begins with the whole last request.",
        ),
    ],
    "moved": [
        ((sent(A, B), sent(B, A)), (sent(A, B), sent(A, B)), "Preset message “B” has moved: ")
    ],
    "changed": [
        ((sent(A), sent(line("A", "(a)"))), SAME, "Preset message “A” has changed: "),
        ((sent(A), sent(A, draft="y")), SAME, "The draft has changed: "),
    ],
    "added": [((sent(A), sent(B, A)), (sent(B, A), sent(A)), "Preset message “B” was added: ")],
    "gone": [
        ((sent(B, A), sent(A)), (sent(A), sent(B, A)), "Preset message “B” was removed: "),
        (
            (sent(A), sent(A, draft="")),
            (sent(A, draft=""), sent(A)),
            "The draft was removed; the rest is unchanged.",
        ),
    ],
    "other": [((sent(A), sent(C)), SAME, "Preset message “A” and the following text differ: ")],
}
STATES = [(kind, *state) for kind, states in CAUSES.items() for state in states]


@each_row(("kind", "shows", "silent", "sentence"), STATES)
def test_a_cause_is_shown_where_it_is_true_and_nowhere_else(
    kind: str,
    shows: tuple[Composed | None, Composed],
    silent: tuple[Composed | None, Composed],
    sentence: str,
) -> None:
    found, other = forecast(*shows), forecast(*silent)
    assert found.at.kind == kind
    if sentence.endswith(": "):
        assert found.sentence.startswith(f"{sentence}{found.after:,} token")
        assert found.after == found.total - found.common - REQUEST_OVERHEAD
    else:
        assert found.sentence == sentence
    assert sentence not in other.sentence


def test_every_kind_of_cause_has_a_row() -> None:
    assert set(CAUSES) == set(get_args(BreakKind))


@each_row(("kind", "shows"), [state[:2] for state in STATES])
def test_figures_compare_with_a_request_that_there_is(
    kind: str, shows: tuple[Composed | None, Composed]
) -> None:
    assert ("match the last request." in forecast_sentences(forecast(*shows))) is (
        kind not in ("first", "model", "kept")
    )


# ---  -------------------------------------------------------------------------------------


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
