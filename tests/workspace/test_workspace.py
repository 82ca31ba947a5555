"""A workspace driven by a script without a screen; the state has everything it needs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.e2e.conftest import Heard, settled
from tests.vendors import VendorTransport
from tui_chat.cli.app import open_library
from tui_chat.config import BUILT_IN_ENDPOINTS, Config
from tui_chat.providers import HttpClient
from tui_chat.store import Store
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import Done, Failed, ReplyGrew
from tui_chat.workspace.workspace import Workspace


async def test_a_script_sends_regenerates_forks_and_switches_the_model(tmp_path: Path) -> None:
    config = Config(
        endpoints=BUILT_IN_ENDPOINTS,
        endpoint="loopback",
        model="echo",
        data_dir=tmp_path,
        config_dir=tmp_path,
    )
    times = iter(range(1_700_000_000, 1_800_000_000))
    ids = iter(range(1_000_000))
    workspace = Workspace(
        WorkspaceCore(
            config,
            await Store.open(
                tmp_path / "chat.db", now=lambda: float(next(times)), new_id=lambda: f"m{next(ids)}"
            ),
            HttpClient({"loopback.invalid": VendorTransport}),
            open_library(config),
            now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
        )
    )
    events = Heard()
    workspace.subscribe(events)
    await workspace.start()
    try:
        empty = workspace.state
        shown = workspace.requests.compose("Hello")
        assert await workspace.replies.submit("Hello")
        await settled(workspace, events)
        assert workspace.state.last_sent["loopback"].composed is shown
        assert [entry.message.content for entry in workspace.state.entries] == ["Hello", "Hello"]
        assert events.of(ReplyGrew)
        assert empty.entries == (), "a state that was read does not change"

        assert await workspace.replies.regenerate(workspace.state.entries[-1].message.id)
        await settled(workspace, events)
        assert workspace.state.entries[-1].siblings == 2

        first = workspace.state.session_id
        assert await workspace.branches.fork(workspace.state.entries[-1].message.id)
        assert workspace.state.session_id != first
        assert {each.session_id for each in workspace.state.sessions} >= {first}
        assert isinstance(events.of(Done)[-1], Done)

        await workspace.settings.set_model("loopback-anthropic", "mirror")
        assert workspace.state.effective_model == "mirror"
        assert workspace.requests.compose("And now?").model == "mirror"
        assert events.of(Failed) == []
    finally:
        await workspace.close()
