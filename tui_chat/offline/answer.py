"""What goes back: a status, headers, and steps that `play` walks through in time.

An `Answer` is inert. Making it computes nothing of the reply: the steps are pulled one by one, so
a client that goes away stops the work by not pulling.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tui_chat.offline.house import Headers
from tui_chat.offline.pieces import Cut, Stall, Wait
from tui_chat.offline.world import World

Step: TypeAlias = bytes | Wait | Stall | Cut


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply to one HTTP request."""

    status: int
    headers: Headers
    steps: Iterable[Step]
    """The body and what happens while it is sent. To be walked once."""

    before: tuple[Wait | Stall, ...] = ()
    """What happens before even the status line: an unstreamed reply is waited for whole."""


class ConnectionCut(Exception):
    """The model dropped the connection: raised out of `play` for the door to act on."""


async def play(
    steps: Iterable[Step],
    world: World,
    pause: Callable[[float | None], Awaitable[None]],
) -> AsyncIterator[bytes]:
    """Yield the bytes of the steps, each when it is due.

    Waits add up on a clock of their own, so that a slow reader does not slow the model further.
    `pause` waits the seconds given, or for ever if given None. Raises `ConnectionCut`.
    """
    due = world.monotonic()
    for step in steps:
        match step:
            case bytes():
                yield step
            case Wait(seconds):
                due += seconds
                late = due - world.monotonic()
                if late > 0:
                    await pause(late)
            case Stall():
                await pause(None)
            case Cut():
                raise ConnectionCut
            case _:
                assert_never(step)
