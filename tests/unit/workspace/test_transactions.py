"""What a message costs from Enter to the settled reply: transactions, and states to look at."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable
from dataclasses import fields
from typing import Any

import pytest

from tests.support.workspace import settled
from tui_chat.workspace.exchange import Slot, Target
from tui_chat.workspace.state import WorkspaceState


class Counted:
    """The transactions of all databases, and the states of a workspace."""

    def __init__(self) -> None:
        self.transactions = 0
        self.states = 0
        """Replacements of the state, except those that only let a reply grow."""

    def trace(self, statement: str) -> None:
        self.transactions += statement.startswith("BEGIN")

    def watch(self, before: WorkspaceState, now: WorkspaceState) -> None:
        changed = {
            field.name
            for field in fields(now)
            if getattr(before, field.name) is not getattr(now, field.name)
        }
        self.states += changed != {"partials"}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts, connect = Counted(), sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(counts.trace)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return counts


async def test_what_a_message_costs(make_workspace, counted: Counted):
    workspace, heard = await make_workspace()
    workspace.core.watch(counted.watch)

    async def cost(work: Awaitable[object]) -> tuple[int, int]:
        counted.transactions = counted.states = 0
        assert await work
        await settled(workspace, heard)
        await workspace.tools.all_ended()
        await workspace.queue.finish()
        await asyncio.sleep(0.05)
        return counted.transactions, counted.states

    costs = {
        "first": await cost(workspace.replies.submit("hello")),
        "second": await cost(workspace.replies.submit("again")),
        "regenerated": await cost(
            workspace.replies.regenerate(workspace.state.entries[-1].message.id)
        ),
    }
    entries = workspace.state.entries
    models = ("echo", "mirror", "lorem:max:20", "echo")
    slots = [Slot(Target("loopback", model), entries) for model in models]
    costs["four targets"] = await cost(workspace.replies.submit_to(slots, "four"))
    most = {"first": (6, 7), "second": (4, 5), "regenerated": (4, 5), "four targets": (7, 7)}
    for name, (transactions, states) in costs.items():
        assert transactions <= most[name][0], costs
        assert states <= most[name][1], costs
