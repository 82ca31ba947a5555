"""The models beside the core's. The failing ones take a number of failures (`flaky-429:2`), and
`toolsmith` the name of a tool (`toolsmith:Read`).
"""

import math
from collections.abc import Callable, Iterator

import httpx

from tui_chat.models.envelope import Turn
from tui_chat.models.json_text import to_json
from tui_chat.offline import models
from tui_chat.offline.mirror import fenced, inline_code
from tui_chat.offline.models import Model, at_speed, echo, read_positive, read_speed
from tui_chat.offline.prompt import Prompt, Refusal
from tui_chat.offline.reply import Piece, Pieces
from tui_chat.plugins.practice.json_answers import sample_of

MOST_FAILURES = 1_000_000
_PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjNvMZ0Ai+hcEKLNXz"
    "WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELgs+oGEtpJOdKAAAAABJRU5E"
    "rkJggg=="
)
"""A PNG file of 64 by 64 pixels."""
FAULTS: dict[str, Callable[[], Refusal]] = {
    "429": lambda: Refusal("rate_limited", seconds=2),
    "500": lambda: Refusal("failed"),
    "529": lambda: Refusal("overloaded"),
}
"""The faults of a provider by status."""


def cut() -> httpx.RemoteProtocolError:
    """Return the error for a connection that the provider has dropped."""
    sentence = "peer closed connection without sending complete message body"
    return httpx.RemoteProtocolError(f"{sentence} (incomplete chunked read)")


def find_model(name: str, attempt: int) -> Model | None:
    """Return the model of this name for its n-th request; None if there is none."""
    stem, *options = name.split(":")
    kind = stem.removeprefix("flaky-")
    if stem.startswith("flaky-") and kind in FAULTS and len(options) <= 1:
        times = read_positive(options[0], MOST_FAILURES) if options else math.inf
        fault = FAULTS[kind]
        return (lambda _: failing(fault())) if 0 < attempt <= times else echo if times else None
    if stem.startswith("flaky-") and kind in ENDS and not options:
        return lambda _: breaking(kind)
    if stem == "toolsmith" and options and read_speed(options[0]) == 0:
        return (lambda prompt: _toolsmith(prompt, options[0])) if len(options) == 1 else None
    if stem in _ANSWERING and len(options) <= 1:
        speed = read_speed(options[0]) if options else None
        return None if speed == 0 else at_speed(_ANSWERING[stem], speed)
    return models.find_model(name)


def failing(error: Exception) -> Pieces:
    """Yield nothing; raises an error."""
    yield from ()
    raise error


def breaking(kind: str) -> Pieces:
    """Yield the beginning of a reply that ends in one of `ENDS`."""
    yield Piece(
        "I was going to tell you about the ferry, and how it leaves at dawn, and who is on it, "
        "and why the old man at the oars has never once looked"
    )
    yield from ENDS[kind]()


ENDS: dict[str, Callable[[], Pieces]] = {
    "error": lambda: failing(FAULTS["529"]()),
    "cut": lambda: failing(cut()),
    "stall": lambda: iter([math.inf]),
}
"""The ways in which a reply can fail: an error inside the stream, no connection, silence."""


def last_text(prompt: Prompt) -> str:
    """Return the text of the last user message."""
    turns = reversed(prompt.envelope.turns)
    return next((turn.text.plain for turn in turns if turn.role == "user"), "")


def _thinker(prompt: Prompt) -> Iterator[Piece]:
    last = last_text(prompt)
    words = _words(last)
    earlier = len(prompt.envelope.turns) - 1
    yield Piece(
        f"**Reading the request**\n\nThe user wrote {words} after {earlier} earlier turns. "
        "I am a small program, so I should count, not guess.\n\n"
        "**Deciding**\n\nCounting is done. I will report it and stop.",
        "reasoning",
    )
    number, _, word = words.partition(" ")
    yield Piece(
        f"I thought about it. Your message has **{number}** {word} and {len(last)} characters."
    )


def _words(text: str) -> str:
    count = len(text.split())
    return f"{count} {'word' if count == 1 else 'words'}"


def _researcher(prompt: Prompt) -> Iterator[Piece]:
    yield Piece("The domain **example.com** is reserved for documents like this one.")
    yield Piece("https://example.com/", "source", "Example Domain")
    yield Piece(" So are names that end in `.example`: nobody can register one.")
    title = "RFC 2606: Reserved Top Level DNS Names"
    yield Piece("https://www.rfc-editor.org/rfc/rfc2606", "source", title)
    yield Piece(f"\n\nYour message has {_words(last_text(prompt))}. That needs no source.")


def _picture(_: Prompt) -> Iterator[Piece]:
    yield Piece("This is a small blue picture.")
    yield Piece(_PICTURE, "picture")


def _toolsmith(prompt: Prompt, name: str = "") -> Iterator[Piece]:
    """Yield a call of a declared tool, a report of results, or the reason for not calling. `name`
    is the tool to call; empty for the one that the request names, or the first.
    """
    choice, tools = prompt.envelope.parameters.values.tool_choice, prompt.envelope.functions
    name = name or next(iter(choice.names if choice else ()), "")
    results: list[Turn] = []
    for turn in reversed(prompt.envelope.turns):
        if turn.role != "tool":
            break
        results.insert(0, turn)
    if results:
        yield Piece("\n\n".join(_report(prompt, result) for result in results))
    elif not tools:
        yield Piece(
            "The request declares no tools, so there is nothing to call. In the app, `/tools` "
            "adds one."
        )
    elif choice and choice.mode == "none":
        yield Piece("Tools were declared, but the request forbids calls.")
    elif tool := next((tool for tool in tools if name in ("", tool.name)), None):
        sample = to_json(sample_of(tool.parameters)) if tool.parameters else "{}"
        yield Piece(sample, "call", tool.name)
    else:
        yield Piece(f"No tool {inline_code(name)} was declared in this request.")


def _report(prompt: Prompt, result: Turn) -> str:
    calls = (call for turn in reversed(prompt.envelope.turns) for call in turn.tool_calls)
    called = next((call.name for call in calls if call.id == result.tool_call_id), "tool")
    name, text = inline_code(result.tool_name or called), result.text.plain
    if not text:
        return f"The tool {name} answered with nothing."
    return f"The tool {name} answered:\n\n{fenced(text)}"


_ANSWERING: dict[str, Model] = {
    "thinker": _thinker,
    "researcher": _researcher,
    "picture": _picture,
    "toolsmith": _toolsmith,
}
