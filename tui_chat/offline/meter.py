"""Between a model and a voice: tokens, speed, the length limit and the stop sequences.

1. Text goes out a token at a time, after a wait of 1/speed seconds.
2. Reasoning, text and tool calls all count against the limit, as at every provider. Reaching it
   exactly is no cut; needing one more token is.
3. A tool call that does not fit is left out whole and the reply ends for its length.
4. A stop sequence is never said, not even its beginning: text that might be one is held back.
   It is looked for in the answer only, never in reasoning.
5. A tool call gets its id here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from tui_chat.offline import tokens
from tui_chat.offline.pieces import (
    Cut,
    Failure,
    Finish,
    Metered,
    Pace,
    Piece,
    Reasoning,
    Stall,
    Text,
    ToolCall,
    Wait,
)


def meter(
    pieces: Iterable[Piece],
    limit: int | None,
    stops: tuple[str, ...],
    token: Callable[[int], str],
) -> Iterator[Metered]:
    """Say pieces within limits. Ends with `Finish`, unless the reply breaks off."""
    spent = reasoning = 0
    speed: int | None = None
    called = False
    held = ""
    for piece in pieces:
        match piece:
            case Pace(speed):
                pass
            case Reasoning(text) | Text(text):
                for delta, cost in tokens.deltas(text, single=limit is not None):
                    if limit is not None and spent + cost > limit:
                        if held:
                            yield Text(held)
                        yield Finish("length", None, spent, reasoning)
                        return
                    if speed is not None:
                        yield Wait(cost / speed)
                    spent += cost
                    if isinstance(piece, Reasoning):
                        reasoning += cost
                        yield Reasoning(delta)
                    elif not stops:
                        yield Text(delta)
                    else:
                        clear, held, stop = _scan(held + delta, stops)
                        if clear:
                            yield Text(clear)
                        if stop is not None:
                            yield Finish("stop_sequence", stop, spent, reasoning)
                            return
            case ToolCall(name, arguments, _):
                cost = tokens.count(name) + tokens.count(arguments)
                if limit is not None and spent + cost > limit:
                    yield Finish("length", None, spent, reasoning)
                    return
                spent += cost
                called = True
                yield ToolCall(name, arguments, token(24))
            case Stall() | Cut() | Failure():
                yield piece
                return
            case _:
                assert_never(piece)
    if held:
        yield Text(held)
    yield Finish("tool_calls" if called else "stop", None, spent, reasoning)


def _scan(text: str, stops: tuple[str, ...]) -> tuple[str, str, str | None]:
    """Return what may be said, what must be held back, and the stop sequence met."""
    found = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if found:
        end, length, stop = min(found)  # the one that is complete first; of two, the longer
        return text[: end + length], "", stop
    longest = max(map(len, stops)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(stop.startswith(text[start:]) for stop in stops):
            return text[:start], text[start:], None
    return text, "", None
