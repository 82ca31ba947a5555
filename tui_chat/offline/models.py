"""The models: generators of pieces that know no protocol.

A name is `model` or `model:speed`, with the speed in tokens per second or `max`; `lorem` takes a
length too (`lorem:max:5000`). The same request always gets the same reply.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path

from tui_chat.models.blocks import TextBlock
from tui_chat.offline.mirror import describe_request
from tui_chat.offline.prompt import Prompt
from tui_chat.offline.reply import Piece, Pieces, split_tokens

MODELS = {
    "mirror": "Answers with the request it received.",
    "echo": "Repeats the last user message exactly.",
    "lorem": "Writes a long Markdown reply; lorem:SPEED:TOKENS sets how fast and how long.",
}
"""The names of the models, in the order in which lists show them, and a sentence about each."""

Model = Callable[[Prompt], Pieces]
"""Yields the reply to a request. It may raise Refusal."""

_SPEED, _LENGTH = 60, 900
"""Tokens per second, and tokens, of `lorem`."""
_MAX_SPEED, _MAX_LENGTH = 100_000, 1_000_000
"""Their maximum in a name; `max` has no limit."""


def find_model(name: str) -> Model | None:
    """Return the model of this name; None if there is none."""
    stem, *options = name.split(":")
    speed = read_speed(options[0]) if options else _SPEED if stem == "lorem" else None
    length = read_positive(options[1], _MAX_LENGTH) if len(options) == 2 else _LENGTH
    answers: dict[str, Model] = {
        "mirror": lambda prompt: iter([Piece(describe_request(prompt))]),
        "echo": echo,
        "lorem": lambda _: map(Piece, blocks(length)),
    }
    is_valid = stem in answers and speed != 0 and length and len(options) <= 1 + (stem == "lorem")
    return at_speed(answers[stem], speed) if is_valid else None


def at_speed(answer: Model, speed: int | None) -> Model:
    """Return a model that answers with so many tokens per second; None for as fast as possible."""
    return lambda prompt: (
        replace(piece, speed=speed) if isinstance(piece, Piece) else piece
        for piece in answer(prompt)
    )


def echo(prompt: Prompt) -> Iterator[Piece]:
    """Yield the texts of the last user message that has one, each on lines of its own."""
    said = [turn for turn in prompt.envelope.turns if turn.role == "user"]
    texts = (
        "\n".join(block.text for block in turn.blocks if isinstance(block, TextBlock))
        for turn in reversed(said)
    )
    yield Piece(next(filter(None, texts), "(There is no user text to repeat.)"))


def blocks(length: int) -> Iterator[str]:
    """Yield `length` tokens of Markdown in every form; the last chapter is cut."""
    chapter = Path(__file__).with_name("lorem.md").read_text("utf-8") + "\n"
    heads = (f"{'#' * min(number, 2)} Part {number}" for number in count(1))
    parts = (split_tokens(f"{head}, in which little happens\n\n{chapter}") for head in heads)
    tokens = islice(chain.from_iterable(parts), length)
    while block := "".join(islice(tokens, 500)):
        yield block


def read_speed(option: str) -> int | None:
    """Return tokens per second; None for `max`, 0 if invalid."""
    return None if option == "max" else read_positive(option, _MAX_SPEED)


def read_positive(option: str, maximum: int) -> int:
    """Return a number from 1 to `maximum`; 0 if invalid."""
    is_number = option.isascii() and option.isdigit() and len(option) < 10
    return int(option) if is_number and int(option) <= maximum else 0
