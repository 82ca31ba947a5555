"""What the inspector shows is what the provider receives, byte for byte, after whatever came
before: a walk of random steps over one run of the app, the same for the same seed.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support import app as support
from tests.support.app import settle, until
from tests.support.preset_app import MESSAGES, app_with, opened
from tests.support.vendors import LOOPBACKS, HttpRequest
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.views import views

STEPS = 55
KINDS = (
    *("say", "say", "say", "edit", "undo", "branch"),
    *("outside", "outside", "model", "model", "look"),
)
"""What is done again and again, in an order that chance makes anew for each round."""
MODEL = "echo:40"
OFFLINE = tuple(endpoint.name for endpoint in LOOPBACKS)


class Walk:
    """One run of the app, and what may be done in it."""

    def __init__(
        self,
        pilot: Pilot[None],
        app: TuiChat,
        received: list[HttpRequest],
        folder: Path,
        going: asyncio.Event,
    ) -> None:
        self.pilot, self.app, self.workspace, self.received = pilot, app, app.workspace, received
        self.file = folder / "presets" / "mine.json"
        self.inspector = app.query_one(Inspector)
        self.chance = random.Random(11)
        self.going = going
        self.done = Counter[str]()
        self.round: list[str] = []

    async def step(self, number: int) -> None:
        """Do something, and hold what is shown against what would be sent."""
        if not self.round:
            self.round = self.chance.sample(KINDS, len(KINDS))
        name = self.round.pop()
        await getattr(self, name)(number)
        self.done[name] += 1
        await until(self.pilot, self.is_shown)

    def is_shown(self) -> bool:
        """Whether the inspector shows what the workspace composes in its protocol."""
        composed = self.inspector.composed
        made = self.workspace.requests.compose(self.app.query_one(Composer).text, composed.protocol)
        return composed.payload.body == made.payload.body

    async def say(self, number: int) -> None:
        """Send what is shown; look at other protocols while the reply streams."""
        own = self.workspace.state.endpoint.protocol
        self.app.inspector.action_show_in_protocol(own)
        self.app.query_one(Composer).text = f"Question {number}: 木漏れ日 “\\n” {{{{user}}}}?"
        await until(self.pilot, lambda: self.inspector.active is own and self.is_shown())
        shown, count = self.inspector.composed.payload.body, len(self.received)
        self.going.clear()
        self.app.query_one(Composer).focus()
        await self.pilot.press("enter")
        await until(
            self.pilot, lambda: len(self.received) > count and self.workspace.state.is_streaming
        )
        for protocol in self.chance.sample(list(Protocol), 2):
            self.app.inspector.action_show_in_protocol(protocol)
            await until(self.pilot, lambda p=protocol: self.inspector.active is p)
            assert self.workspace.state.is_streaming
        self.going.set()
        assert self.received[count].body == shown
        await until(self.pilot, lambda: not self.workspace.state.is_streaming)
        assert len(self.received) == count + 1

    async def edit(self, number: int) -> None:
        """Put another version beside a message."""
        if self.workspace.state.entries:
            entry = self.chance.choice(self.workspace.state.entries)
            await self.workspace.branches.edit(
                entry.message.id, f"{entry.message.content[:40]} edited {number}"
            )

    async def undo(self, number: int) -> None:
        """Delete a message, and mostly bring it back."""
        if self.workspace.state.entries:
            await self.workspace.branches.delete(
                self.chance.choice(self.workspace.state.entries).message.id
            )
            if number % 3:
                await self.workspace.undo()

    async def branch(self, number: int) -> None:
        """Show another version of a message, where there is one."""
        if self.workspace.state.entries:
            entry = self.chance.choice(self.workspace.state.entries)
            await self.workspace.branches.show_version(
                entry.message.id, self.chance.choice((-1, 1))
            )

    async def outside(self, number: int) -> None:
        """Another program writes the preset's file."""
        messages = [*MESSAGES, {"id": f"new{number}", "role": "user", "content": f"New {number}."}]
        self.chance.shuffle(messages)
        self.file.write_text(json.dumps({"presetMessages": messages, "size": "x" * number}))
        self.app.presets.check_file()

    async def model(self, number: int) -> None:
        """Ask the next endpoint from now on: another protocol."""
        await self.workspace.settings.set_model(OFFLINE[self.done["model"] % len(OFFLINE)], MODEL)

    async def look(self, number: int) -> None:
        """Look at another view and protocol."""
        self.inspector.view_shown = self.chance.choice(list(views()))
        self.app.inspector.action_show_in_protocol(self.chance.choice(list(Protocol)))


async def test_the_shown_request_is_sent_after_a_random_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = asyncio.Event()
    going.set()

    async def slept(seconds: float) -> None:
        """The provider's clock: stands still while the walk looks around."""
        await asyncio.sleep(0)
        await going.wait()

    monkeypatch.setattr(support, "no_sleep", slept)
    received: list[HttpRequest] = []
    app = app_with(tmp_path, model=MODEL, on_request=received.append)
    async with app.run_test(size=(100, 18)) as pilot:
        app = await opened(pilot)
        await app.workspace.presets.choose("mine")
        await settle(pilot)
        walk = Walk(pilot, app, received, tmp_path, going)
        for number in range(STEPS):
            await walk.step(number)
    assert len(received) == walk.done["say"]
    assert min(walk.done.values()) > 1
    assert len({request.path for request in received}) == len(Protocol)
