"""A session that grows in the app while another program's calls are recorded."""

from __future__ import annotations

from pathlib import Path

from tests.plugins.tap.test_recorded_requests import BODY, record
from tests.support.app import make_app, opened, state_of, until
from tests.support.pictures import WIDE
from tui_chat.ui.inspector.pane import Inspector


async def test_it_follows_the_calls_of_the_running_program(tmp_path: Path):
    await record(tmp_path, BODY)
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await workspace.sessions.open(state_of(app).sessions[0].session_id)
        await until(pilot, lambda: state_of(app).request.viewed is not None)
        reply = {"role": "assistant", "content": state_of(app).entries[-1].message.content}
        first = BODY["messages"][0]
        more = {**BODY, "messages": [first, reply, {**first, "content": "And now?"}]}
        await record(tmp_path, more, first_id=100)
        await workspace.windows.check()
        await until(pilot, lambda: len(state_of(app).entries) == 5)
        inspector = app.query_one(Inspector)

        def newest() -> str:
            composed = inspector.composed
            return composed.envelope.turns[-1].text.plain if composed is not None else ""

        await until(pilot, lambda: newest() == "And now?")
        assert state_of(app).request.viewed is not None
