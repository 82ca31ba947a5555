"""The models: their names, and what each answers. They are generators of pieces that know no
protocol.

A name is `model` or `model:speed`, with the speed in tokens per second or `max`; `lorem` takes a
length too (`lorem:max:5000`), `toolsmith` the name of a tool (`toolsmith:Read`), and the failing
models a number of failures (`flaky-429:2`). The same request always gets the same reply.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.json_answers import sample_of
from tui_chat.offline.mirror import describe_request, fenced, inline_code
from tui_chat.offline.prompt import (
    PromptRequest,
    PromptText,
    PromptToolCall,
    PromptToolResult,
    fields_of,
)
from tui_chat.offline.reply import (
    Disconnect,
    Failure,
    PicturePiece,
    Piece,
    Problem,
    ReasoningPiece,
    SourcePiece,
    Speed,
    Stall,
    TextPiece,
    ToolCallPiece,
    split_tokens,
)


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """One entry of the catalog."""

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

_SPEED, _LENGTH = 60, 900
"""Tokens per second, and tokens, of `lorem`."""
_MAX_SPEED = 100_000
"""Maximum speed in a name; `max` has no limit."""
_MAX_LENGTH = 1_000_000
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
        return lambda _prompt, _attempt: iter((TextPiece(_FIRST_WORDS), _BREAKING[stem]))
    if stem == "toolsmith" and options and _speed(options[0]) == 0:
        tool = options[0]
        return None if len(options) > 1 else lambda prompt, _attempt: _toolsmith(prompt, tool)
    if stem in _ANSWERING and len(options) <= 1:
        speed = _speed(options[0]) if options else None
        return None if speed == 0 else _at_speed(_ANSWERING[stem], speed)
    return None


def blocks(length: int) -> Iterator[str]:
    """Yield `length` tokens of Markdown in every form, chapter by chapter; the last one is cut.

    It exercises the screen: headings, nested lists, tables, code, quotes, emoji, Chinese and
    Japanese.
    """
    chapter = Path(__file__).with_name("lorem.md").read_text("utf-8") + "\n"
    remaining = length
    for number in count(1):
        sign = "#" if number == 1 else "##"
        tokens = split_tokens(f"{sign} Part {number}, in which little happens\n\n{chapter}")
        kept = list(islice(tokens, remaining))
        yield "".join(kept)
        remaining -= len(kept)
        if not remaining:
            return


def _last_text(prompt: PromptRequest) -> str:
    return next((turn.text for turn in reversed(prompt.turns) if turn.role == "user"), "")


def _mirror(prompt: PromptRequest) -> Iterator[Piece]:
    yield TextPiece(describe_request(prompt))


def _echo(prompt: PromptRequest) -> Iterator[Piece]:
    for turn in reversed(prompt.turns):
        if turn.role == "user" and any(isinstance(part, PromptText) for part in turn.parts):
            yield TextPiece(turn.text)
            return
    yield TextPiece("(There is no user text to repeat.)")


def _words(count: int) -> str:
    return "word" if count == 1 else "words"


def _thinker(prompt: PromptRequest) -> Iterator[Piece]:
    last = _last_text(prompt)
    count = len(last.split())
    yield ReasoningPiece(
        f"**Reading the request**\n\nThe user wrote {count} {_words(count)} after "
        f"{len(prompt.turns) - 1} earlier turns. "
    )
    yield ReasoningPiece("I am a small program, so I should count, not guess.\n\n")
    yield ReasoningPiece("**Deciding**\n\nCounting is done. I will report it and stop.")
    yield TextPiece(f"I thought about it. Your message has **{count}** {_words(count)} ")
    yield TextPiece(f"and {len(last)} characters.")


def _researcher(prompt: PromptRequest) -> Iterator[Piece]:
    last = _last_text(prompt)
    yield TextPiece("The domain **example.com** is reserved for documents like this one.")
    yield SourcePiece("Example Domain", "https://example.com/")
    yield TextPiece(" So are names that end in `.example`: nobody can register one.")
    yield SourcePiece(
        "RFC 2606: Reserved Top Level DNS Names", "https://www.rfc-editor.org/rfc/rfc2606"
    )
    count = len(last.split())
    yield TextPiece(f"\n\nYour message has {count} {_words(count)}. That needs no source.")


def _picture(prompt: PromptRequest) -> Iterator[Piece]:
    last = _last_text(prompt)
    yield TextPiece("The colors of this picture follow from your message.")
    yield PicturePiece(_drawn(last))


def _drawn(text: str, size: int = 64) -> str:
    """Return a PNG file in base64, whose colors follow from a text."""
    digest = sha256(text.encode("utf-8", "replace")).digest()
    rows = bytearray()
    for y in range(size):
        rows.append(0)  # the filter of the row: none
        for x in range(size):
            rows += bytes(
                (start + x * across // size + y * down // size) & 255
                for start, across, down in zip(digest[:3], digest[3:6], digest[6:9], strict=True)
            )
    side = size.to_bytes(4, "big")
    header = side + side + bytes((8, 2, 0, 0, 0))  # 8 bits of red, green and blue
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))).decode()


def _chunk(chunk: tuple[bytes, bytes]) -> bytes:
    kind, content = chunk
    check = zlib.crc32(kind + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + kind + content + check


def _toolsmith(prompt: PromptRequest, name: str = "") -> Iterator[Piece]:
    """Yield a call of a declared tool, a report of results, or the reason for not calling. `name`
    is the tool to call; empty for the one that the request names, or the first.
    """
    name = name or prompt.choice.name or ""
    results = list[PromptToolResult]()
    for turn in reversed(prompt.turns):
        if not turn.results:
            break
        results[:0] = turn.results
    if results:
        yield TextPiece("\n\n".join(_report(prompt, result) for result in results))
    elif not prompt.tools:
        yield TextPiece(
            "The request declares no tools, so there is nothing to call. In the app, `/tools` "
            "adds one."
        )
    elif prompt.choice.mode == "none":
        yield TextPiece("Tools were declared, but the request forbids calls.")
    elif tool := next((tool for tool in prompt.tools if name in ("", tool.name)), None):
        sample = fields_of(sample_of(tool.schema)) if tool.schema else {}
        yield ToolCallPiece(tool.name, json.dumps(sample, ensure_ascii=False))
    else:
        yield TextPiece(f"No tool {inline_code(name)} was declared in this request.")


def _report(prompt: PromptRequest, result: PromptToolResult) -> str:
    parts = (part for turn in reversed(prompt.turns) for part in turn.parts)
    calls = (part for part in parts if isinstance(part, PromptToolCall))
    called = next((call.name for call in calls if call.id == result.id), "tool")
    name = inline_code(result.name or called)
    if not result.text:
        return f"The tool {name} answered with nothing."
    return f"The tool {name} answered:\n\n{fenced(result.text)}"


_ANSWERING: dict[str, Callable[[PromptRequest], Iterator[Piece]]] = {
    "mirror": _mirror,
    "echo": _echo,
    "thinker": _thinker,
    "researcher": _researcher,
    "picture": _picture,
    "toolsmith": _toolsmith,
}

_FAILING = {
    "flaky-429": Failure(Problem("rate_limited", seconds=2)),
    "flaky-500": Failure(Problem("failed")),
    "flaky-529": Failure(Problem("overloaded")),
}

_BREAKING: dict[str, Piece] = {
    "flaky-error": Failure(Problem("overloaded")),
    "flaky-cut": Disconnect(),
    "flaky-stall": Stall(),
}


def _at_speed(
    answer: Callable[[PromptRequest], Iterator[Piece]], speed: int | None
) -> ModelFunction:
    def reply(prompt: PromptRequest, _attempt: int) -> Iterator[Piece]:
        yield Speed(speed)
        yield from answer(prompt)

    return reply


def _lorem(options: list[str]) -> ModelFunction | None:
    speed = _speed(options[0]) if options else _SPEED
    length = _positive(options[1], _MAX_LENGTH) if len(options) > 1 else _LENGTH
    if speed == 0 or not length or len(options) > 2:
        return None

    def answer(_prompt: PromptRequest) -> Iterator[Piece]:
        for block in blocks(length):
            yield TextPiece(block)

    return _at_speed(answer, speed)


def _failing(stem: str, options: list[str]) -> ModelFunction | None:
    times = _positive(options[0], _MAX_LENGTH) if options else None
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
    return None if option == "max" else _positive(option, _MAX_SPEED)


def _positive(option: str, maximum: int) -> int:
    """Return a number from 1 to `maximum`; 0 if invalid."""
    if not (option.isascii() and option.isdigit() and len(option) < 10):
        return 0
    return int(option) if int(option) <= maximum else 0
