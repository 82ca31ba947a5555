"""The models: who they are, how their names are read, what they say.

A name is `model` or `model:speed`, with speed in tokens per second or `max`; `lorem` takes a
length too (`lorem:max:5000`), and the failing models take how often they fail (`flaky-429:2`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tui_chat.offline import lorem, mirror, toolsmith
from tui_chat.offline.asked import Asked, Words
from tui_chat.offline.pieces import Cut, Failure, Pace, Piece, Reasoning, Stall, Text
from tui_chat.offline.problems import Broken, Overloaded, RateLimited

RETRY_SECONDS = 2
"""What the rate-limited model tells a client to wait."""


@dataclass(frozen=True, slots=True)
class Model:
    """One entry of the catalogue."""

    name: str
    about: str
    """One sentence, for a list of models."""


MODELS: tuple[Model, ...] = (
    Model("mirror", "Describes the request it received: system text, turns, tools, settings."),
    Model("echo", "Repeats the last user message exactly."),
    Model("lorem", "Writes a long Markdown reply; lorem:SPEED:TOKENS sets how fast and how long."),
    Model("thinker", "Reasons first, then answers."),
    Model("toolsmith", "Calls a declared tool, then reports what the tool answered."),
    Model("flaky-429", "Refuses for rate limits; flaky-429:N refuses N times, then echoes."),
    Model("flaky-500", "Fails with a server error; flaky-500:N fails N times, then echoes."),
    Model("flaky-529", "Fails for overload; flaky-529:N fails N times, then echoes."),
    Model("flaky-error", "Starts to answer, then reports an error inside the stream."),
    Model("flaky-cut", "Starts to answer, then drops the connection."),
    Model("flaky-stall", "Starts to answer, then says nothing more, for ever."),
)
"""Every model, in the order in which lists show them."""

FASTEST = 100_000
"""Greatest speed that a name may ask for, in tokens per second; `max` has no limit."""

LONGEST = 1_000_000
"""Greatest length that a name may ask for, in tokens."""

Behaviour = Callable[[Asked, int], Iterator[Piece]]
"""What a model does with a request, given that it is the n-th for that name, counted from 1."""

_OPENING = (
    "I was going to tell you about the ferry, and how it leaves at dawn, and who is on it, "
    "and why the old man at the oars has never once looked"
)


def find(name: str) -> Behaviour | None:
    """Return what the model of this name does; None if there is no such model."""
    stem, *options = name.split(":")
    if stem == "lorem":
        return _lorem(options)
    if stem in _FAILING:
        return _failing(stem, options)
    if stem in _BREAKING and not options:
        return _BREAKING[stem]
    if stem in _SPEAKING and len(options) <= 1:
        speed = _speed(options[0]) if options else None
        return None if speed == 0 else _paced(_SPEAKING[stem], speed)
    return None


def _mirror(asked: Asked) -> Iterator[Piece]:
    yield Text(mirror.report(asked))


def _echo(asked: Asked) -> Iterator[Piece]:
    for turn in reversed(asked.turns):
        if turn.role == "user" and any(isinstance(part, Words) for part in turn.parts):
            yield Text(turn.text)
            return
    yield Text("(There is no user text to repeat.)")


def _thinker(asked: Asked) -> Iterator[Piece]:
    last = next((turn.text for turn in reversed(asked.turns) if turn.role == "user"), "")
    words = len(last.split())
    yield Reasoning(
        f"**Reading the request**\n\nThe user wrote {words} words after {len(asked.turns) - 1} "
        "earlier turns. "
    )
    yield Reasoning("I am a small program, so I should count, not guess.\n\n")
    yield Reasoning("**Deciding**\n\nCounting is done. I will report it and stop.")
    yield Text(f"I thought about it. Your message has **{words}** words ")
    yield Text(f"and {len(last)} characters.")


def _error(_asked: Asked, _attempt: int) -> Iterator[Piece]:
    yield Text(_OPENING)
    yield Failure(Overloaded())


def _cut(_asked: Asked, _attempt: int) -> Iterator[Piece]:
    yield Text(_OPENING)
    yield Cut()


def _stall(_asked: Asked, _attempt: int) -> Iterator[Piece]:
    yield Text(_OPENING)
    yield Stall()


_SPEAKING: dict[str, Callable[[Asked], Iterator[Piece]]] = {
    "mirror": _mirror,
    "echo": _echo,
    "thinker": _thinker,
    "toolsmith": toolsmith.reply,
}

_FAILING = {
    "flaky-429": Failure(RateLimited(RETRY_SECONDS)),
    "flaky-500": Failure(Broken()),
    "flaky-529": Failure(Overloaded()),
}

_BREAKING: dict[str, Behaviour] = {
    "flaky-error": _error,
    "flaky-cut": _cut,
    "flaky-stall": _stall,
}


def _paced(speak: Callable[[Asked], Iterator[Piece]], speed: int | None) -> Behaviour:
    def behave(asked: Asked, _attempt: int) -> Iterator[Piece]:
        yield Pace(speed)
        yield from speak(asked)

    return behave


def _lorem(options: list[str]) -> Behaviour | None:
    speed = _speed(options[0]) if options else lorem.SPEED
    length = _whole(options[1], LONGEST) if len(options) > 1 else lorem.LENGTH
    if speed == 0 or not length or len(options) > 2:
        return None

    def speak(_asked: Asked) -> Iterator[Piece]:
        for block in lorem.blocks(length):
            yield Text(block)

    return _paced(speak, speed)


def _failing(stem: str, options: list[str]) -> Behaviour | None:
    times = _whole(options[0], LONGEST) if options else None
    if times == 0 or len(options) > 1:
        return None

    def behave(asked: Asked, attempt: int) -> Iterator[Piece]:
        if times is None or attempt <= times:
            yield _FAILING[stem]
        else:
            yield from _echo(asked)

    return behave


def _speed(option: str) -> int | None:
    """Tokens per second, None for `max`, 0 for nonsense."""
    return None if option == "max" else _whole(option, FASTEST)


def _whole(option: str, most: int) -> int:
    """Return a number from 1 to `most`, 0 for nonsense."""
    if not (option.isascii() and option.isdigit() and len(option) < 10):
        return 0
    return int(option) if int(option) <= most else 0
