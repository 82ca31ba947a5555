"""A reply is on the disk within a quarter second, told by a clock that only the test moves."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from tests.e2e.test_send import asking
from tests.support.sending import begin_and_send
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS, VendorTransport
from tui_chat.errors import StoreError
from tui_chat.models.message import Message
from tui_chat.models.session import Beginning, Begun, Entry, StoredEnd, StoredExchange
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.providers.client import HttpClient
from tui_chat.send import PartialReply, SendProgress

ALLOWED = 0.25
ENDPOINT = next(e for e in ENDPOINTS if e.name == "loopback")


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while it works and jumps to the next timer when idle."""

    _now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class Disk:
    """The replies of a slow store, which knows when how much was stored."""

    def __init__(self, seconds: float, *, full: bool = False) -> None:
        self.seconds = seconds
        self.full = full
        self.lengths: list[tuple[float, int]] = []

    async def begin_all(self, beginning: Beginning) -> Begun:
        exchange = StoredExchange(
            None, Entry(Message("assistant", id="r"), None, status="streaming")
        )
        return Begun((exchange,), None)

    async def flush(self, entry_id: str, message: Message) -> None:
        await asyncio.sleep(self.seconds)
        if self.full:
            raise StoreError("There is no room left.")
        self.lengths.append((asyncio.get_running_loop().time(), len(message.content)))

    async def end(self, entry_id: str, *, message: Message, **given: Any) -> StoredEnd:
        await self.flush(entry_id, message)
        return StoredEnd(Entry(message, None))


def stream(disk: Disk, model: str, shown: list[tuple[float, int]]) -> Entry:
    """Receive a reply; `shown` tells when how much of it was on the screen."""

    async def receive() -> Entry:
        loop = asyncio.get_running_loop()

        def hear(progress: SendProgress) -> None:
            if isinstance(progress, PartialReply):
                shown.append((loop.time(), len(progress.reply.text)))

        dependencies = OfflineDependencies(monotonic=loop.time)
        client = HttpClient(
            {"loopback.invalid": lambda: VendorTransport(dependencies=dependencies)}
        )
        entry = await begin_and_send(
            asking(ENDPOINT, model),
            session_id="s",
            parent_id=None,
            user=None,
            store=SimpleNamespace(replies=disk),  # type: ignore[arg-type]
            client=client,
            emit=hear,
            clock=loop.time,
        )
        await client.aclose()
        return entry

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(receive())


@each_row("model", ["lorem:7:40", "lorem:40:200", "lorem:900:3000"])
@each_row("seconds", [0.0, 0.004, 0.03, 0.049])
def test_shown_text_is_stored_in_time(model: str, seconds: float) -> None:
    disk = Disk(seconds)
    shown: list[tuple[float, int]] = []
    stream(disk, model, shown)
    assert shown[-1][0] > 2, "the reply took its time"
    ages: list[float] = []
    written = iter(disk.lengths)
    at, length = next(written)
    for moment, wanted in shown:
        while length < wanted:
            at, length = next(written)
        ages.append(at - moment)
    assert max(ages) <= ALLOWED
    assert len(disk.lengths) < shown[-1][0] / 0.1 + 2, "it is not written at every word"


def test_a_full_disk_does_not_stop_a_reply() -> None:
    disk = Disk(0.0, full=True)
    shown: list[tuple[float, int]] = []
    entry = stream(disk, "lorem:40:100", shown)
    assert entry.unsaved == "There is no room left."
    assert (entry.status, len(entry.message.content)) == ("complete", shown[-1][1])
    assert shown[-1] > (2, 300)
