"""The models: their names, and the behaviour of the small ones.

A name is `model` or `model:speed`, with the speed in tokens per second or `max`; `lorem` takes a
length too (`lorem:max:5000`), `toolsmith` the name of a tool (`toolsmith:Read`), and the failing
models a number of failures (`flaky-429:2`).

The model that writes a long reply at a chosen speed and length, in every form of Markdown.

It exercises the screen: headings, nested lists, tables, code, quotes, emoji, Chinese and Japanese.
The same name always gives the same text.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.models import mirror, picture, toolsmith
from tui_chat.offline.prompt_request import PromptRequest, PromptText
from tui_chat.offline.reply_pieces import (
    Disconnect,
    Failure,
    PicturePiece,
    Piece,
    ReasoningPiece,
    SourcePiece,
    Speed,
    Stall,
    TextPiece,
)
from tui_chat.offline.request_errors import Overloaded, RateLimited, ServerFailure
from tui_chat.offline.tokens import count_tokens, split_tokens

SPEED = 60
"""Default tokens per second."""

LENGTH = 900
"""Default length in tokens."""

_BLOCKS = (
    """\
A river does not hurry, and yet it arrives. This text is much the same: it has nowhere to be, \
and it says so at length, with **some of it bold**, *some of it slanted*, a bit of `inline code`, \
~~something taken back~~ and [a link that leads nowhere](https://example.invalid/nowhere).

""",
    """\
### Things to pack

1. A lamp, because the valley is dark
   - oil for three nights
   - a wick, and a second wick
     - no third wick: that would be greed
2. Bread and salt
3. A map
   1. of the way there
   2. of the way back, which is *not* the same way

""",
    """\
### A little Python

```python
from dataclasses import dataclass


@dataclass(frozen=True)
class Boat:
    name: str
    oars: int = 2

    def crossing(self, width: float) -> float:
        \"\"\"Minutes to reach the other bank.\"\"\"
        return width / (0.8 * self.oars)


print(f"{Boat('Heron').crossing(40):.1f} minutes")
```

""",
    """\
> The ferryman said: whoever counts the waves will miss the boat.
>
> > And whoever misses the boat may as well count the waves.

""",
    """\
### Who lives by the water

| bird | seen | call | |
| :--- | ---: | :---: | --- |
| heron | 12 | *kraak* | 🪶 |
| kingfisher | 3 | `tsee` | 💙 |
| 白鹭 (egret) | 107 | 咕 | 🤍 |

""",
    """\
### 河边的话 · 川のほとりで

水流不争先，争的是滔滔不绝。走得慢一点，才看得见岸上的花。🌸

ゆっくり流れる水も、いつか海に着きます。👩‍🌾 한 걸음씩 가면 됩니다. Ça ira, «très bien» … e\u0301.

""",
    """\
### The same boat in Rust

```rust
struct Boat<'a> {
    name: &'a str,
    oars: u32,
}

impl Boat<'_> {
    fn crossing(&self, width: f64) -> f64 {
        width / (0.8 * f64::from(self.oars)) // minutes
    }
}
```

- [x] launched
- [ ] painted
- [ ] forgiven for leaking 🛶

---

""",
)
RETRY_SECONDS = 2
"""The wait in seconds that the rate-limited model asks for."""


def blocks(length: int) -> Iterator[str]:
    """Yield paragraphs of `length` tokens in all; the last one is cut."""
    remaining = length
    for block in _endless_blocks():
        cost = count_tokens(block)
        if cost >= remaining:
            yield "".join(islice(split_tokens(block), remaining))
            return
        remaining -= cost
        yield block


def _endless_blocks() -> Iterator[str]:
    for chapter in count(1):
        yield f"{'#' if chapter == 1 else '##'} Part {chapter}, in which little happens\n\n"
        yield from _BLOCKS


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """One entry of the catalogue."""

    name: str
    about: str
    """One sentence, for a list of models."""


MODELS: tuple[OfflineModel, ...] = (
    OfflineModel(
        "mirror", "Describes the request it received: system text, turns, tools, settings."
    ),
    OfflineModel("echo", "Repeats the last user message exactly."),
    OfflineModel(
        "lorem", "Writes a long Markdown reply; lorem:SPEED:TOKENS sets how fast and how long."
    ),
    OfflineModel("thinker", "Reasons first, then answers."),
    OfflineModel("researcher", "Answers with citations of web pages, which it does not read."),
    OfflineModel("picture", "Answers with a small picture, where the protocol has them."),
    OfflineModel(
        "toolsmith", "Calls a declared tool, then reports what the tool answered; toolsmith:NAME."
    ),
    OfflineModel("flaky-429", "Refuses for rate limits; flaky-429:N refuses N times, then echoes."),
    OfflineModel("flaky-500", "Fails with a server error; flaky-500:N fails N times, then echoes."),
    OfflineModel("flaky-529", "Fails for overload; flaky-529:N fails N times, then echoes."),
    OfflineModel("flaky-error", "Starts to answer, then reports an error inside the stream."),
    OfflineModel("flaky-cut", "Starts to answer, then drops the connection."),
    OfflineModel("flaky-stall", "Starts to answer, then sends nothing more and stays connected."),
)
"""Every model, in the order in which lists show them."""

MAX_SPEED = 100_000
"""Maximum speed in a name, in tokens per second; `max` has no limit."""

MAX_LENGTH = 1_000_000
"""Maximum length in a name, in tokens."""

ModelFunction = Callable[[PromptRequest, int], Iterator[Piece]]
"""Yields the reply to a request, which is the n-th for that model name, counted from 1."""

_FIRST_WORDS = (
    "I was going to tell you about the ferry, and how it leaves at dawn, and who is on it, "
    "and why the old man at the oars has never once looked"
)


def find_model(name: str) -> ModelFunction | None:
    """Return the model of this name; None if there is none."""
    stem, *options = name.split(":")
    if stem == "lorem":
        return _lorem(options)
    if stem in _FAILING:
        return _failing(stem, options)
    if stem in _BREAKING and not options:
        return _BREAKING[stem]
    if stem == "toolsmith" and options and _speed(options[0]) == 0:
        return None if len(options) > 1 else _calling(options[0])
    if stem in _ANSWERING and len(options) <= 1:
        speed = _speed(options[0]) if options else None
        return None if speed == 0 else _at_speed(_ANSWERING[stem], speed)
    return None


def _mirror(prompt: PromptRequest) -> Iterator[Piece]:
    yield TextPiece(mirror.describe_request(prompt))


def _echo(prompt: PromptRequest) -> Iterator[Piece]:
    for turn in reversed(prompt.turns):
        if turn.role == "user" and any(isinstance(part, PromptText) for part in turn.parts):
            yield TextPiece(turn.text)
            return
    yield TextPiece("(There is no user text to repeat.)")


def _thinker(prompt: PromptRequest) -> Iterator[Piece]:
    last = next((turn.text for turn in reversed(prompt.turns) if turn.role == "user"), "")
    words = len(last.split())
    yield ReasoningPiece(
        f"**Reading the request**\n\nThe user wrote {words} words after {len(prompt.turns) - 1} "
        "earlier turns. "
    )
    yield ReasoningPiece("I am a small program, so I should count, not guess.\n\n")
    yield ReasoningPiece("**Deciding**\n\nCounting is done. I will report it and stop.")
    yield TextPiece(f"I thought about it. Your message has **{words}** words ")
    yield TextPiece(f"and {len(last)} characters.")


def _researcher(prompt: PromptRequest) -> Iterator[Piece]:
    last = next((turn.text for turn in reversed(prompt.turns) if turn.role == "user"), "")
    yield TextPiece("The domain **example.com** is reserved for documents like this one.")
    yield SourcePiece("Example Domain", "https://example.com/")
    yield TextPiece(" So are names that end in `.example`: nobody can register one.")
    yield SourcePiece(
        "RFC 2606: Reserved Top Level DNS Names", "https://www.rfc-editor.org/rfc/rfc2606"
    )
    yield TextPiece(f"\n\nYour message has {len(last.split())} words. That needs no source.")


def _picture(prompt: PromptRequest) -> Iterator[Piece]:
    last = next((turn.text for turn in reversed(prompt.turns) if turn.role == "user"), "")
    yield TextPiece("The colours of this picture follow from your message.")
    yield PicturePiece(picture.draw(last))


def _error(_prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
    yield TextPiece(_FIRST_WORDS)
    yield Failure(Overloaded())


def _cut(_prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
    yield TextPiece(_FIRST_WORDS)
    yield Disconnect()


def _stall(_prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
    yield TextPiece(_FIRST_WORDS)
    yield Stall()


_ANSWERING: dict[str, Callable[[PromptRequest], Iterator[Piece]]] = {
    "mirror": _mirror,
    "echo": _echo,
    "thinker": _thinker,
    "researcher": _researcher,
    "picture": _picture,
    "toolsmith": toolsmith.reply,
}

_FAILING = {
    "flaky-429": Failure(RateLimited(RETRY_SECONDS)),
    "flaky-500": Failure(ServerFailure()),
    "flaky-529": Failure(Overloaded()),
}

_BREAKING: dict[str, ModelFunction] = {
    "flaky-error": _error,
    "flaky-cut": _cut,
    "flaky-stall": _stall,
}


def _at_speed(
    answer: Callable[[PromptRequest], Iterator[Piece]], speed: int | None
) -> ModelFunction:
    def reply(prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
        yield Speed(speed)
        yield from answer(prompt)

    return reply


def _calling(name: str) -> ModelFunction:
    def reply(prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
        yield from toolsmith.reply(prompt, name)

    return reply


def _lorem(options: list[str]) -> ModelFunction | None:
    speed = _speed(options[0]) if options else SPEED
    length = _positive(options[1], MAX_LENGTH) if len(options) > 1 else LENGTH
    if speed == 0 or not length or len(options) > 2:
        return None

    def answer(_prompt: PromptRequest) -> Iterator[Piece]:
        for block in blocks(length):
            yield TextPiece(block)

    return _at_speed(answer, speed)


def _failing(stem: str, options: list[str]) -> ModelFunction | None:
    times = _positive(options[0], MAX_LENGTH) if options else None
    if times == 0 or len(options) > 1:
        return None

    def reply(prompt: PromptRequest, attempt: int) -> Iterator[Piece]:
        if times is None or attempt <= times:
            yield _FAILING[stem]
        else:
            yield from _echo(prompt)

    return reply


def _speed(option: str) -> int | None:
    """Return tokens per second; None for `max`, 0 if invalid."""
    return None if option == "max" else _positive(option, MAX_SPEED)


def _positive(option: str, maximum: int) -> int:
    """Return a number from 1 to `maximum`; 0 if invalid."""
    if not (option.isascii() and option.isdigit() and len(option) < 10):
        return 0
    return int(option) if int(option) <= maximum else 0
