"""Calls of a running program in the app."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from tests.plugins.tap.test_recorded_http import REQUEST, record
from tests.support.app import make_app, opened, rows_shown, screen_text, settle, state_of, until
from tests.support.pictures import WIDE
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord, Session, SessionTranscript
from tui_chat.models.usage import CacheLoss, Usage
from tui_chat.plugins.tap.calls_view import CallsView
from tui_chat.store import Store
from tui_chat.ui.inspector.pane import Inspector

BODY = b'{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
LOSS = CacheLoss(6191, "Setting “tools” has changed.", Decimal("0.0235"))


async def add_call(
    store: Store, session_id: str, usage: Usage, loss: CacheLoss | None, *, is_held: bool = False
) -> str:
    request = RequestRecord(
        "tap",
        Protocol.ANTHROPIC,
        "POST",
        "https://x.invalid/v1/messages",
        "",
        {"source": "tap"},
        BODY,
    )
    begun = await store.replies.begin(
        session_id,
        parent_id=None,
        user=None,
        model="claude-opus-5-5",
        endpoint="tap",
        request=request,
    )
    reply = begun.reply.message.id
    if is_held:
        return reply
    await store.replies.end(
        reply,
        message=Message.of("assistant", f"Reply of {session_id}"),
        status="complete",
        usage=usage,
        cost=Decimal("0.0512"),
        priced="x",
        cache_loss=loss,
    )
    return reply


async def recorded(store: Store) -> tuple[str, str, str]:
    """Store a session with two calls and a side conversation; return the ids of the replies."""
    for session in (
        Session("main", "Build it", client="Claude Code", updated=2.0, tags=("tap",)),
        Session("side", "Write a title", client="Claude Code", parent_id="main", updated=1.0),
    ):
        await store.transcripts.add(SessionTranscript(session, ()))
    usage = Usage(22_734, 91, cached=16_543, cache_write=6_191)
    side = await add_call(store, "side", Usage(368, 8, cached=0), None)
    one = await add_call(store, "main", usage, None)
    return side, one, await add_call(store, "main", usage, LOSS)


async def test_the_calls_of_a_recorded_session(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        *_, two = await recorded(app.workspace.store)
        await app.workspace.sessions.open_at("main", two)
        await settle(pilot)
        inspector = app.query_one(Inspector)
        inspector.focus()
        inspector.action_view("calls")
        await until(pilot, lambda: LOSS.cause in " ".join(rows_shown(inspector.views.current)))
        view = inspector.views.current
        assert isinstance(view, CallsView)
        rows = [row.strip() for row in rows_shown(view)]
        table = rows.index("")
        total = "Claude Code · 3 calls · 45.8k input, 72% cached · 6.2k lost · $0.1536"
        assert " ".join(rows[:table]) == total
        head, figures, *calls = rows[table + 1 :]
        assert head == "time     program · model"
        assert figures.split() == ["input", "cached", "written", "lost", "cost"]
        assert calls[0][9:] == "└ Claude Code · claude-opus-5-5"
        assert calls[1].split() == ["368", "0", "$0.0512"]
        assert calls[2][9:] == "Claude Code · claude-opus-5-5"
        assert calls[3].split() == ["22.7k", "16.5k", "6.2k", "$0.0512"]
        assert calls[5].split() == ["22.7k", "16.5k", "6.2k", "6.2k", "$0.0512"]
        assert " ".join(calls[6:]).strip() == LOSS.sentence
        assert "! 6,191 cached tokens lost, $0.0235 more." in screen_text(app)
        await pilot.press("home", *["down"] * (table + 3), "enter")
        await until(pilot, lambda: app.workspace.state.session_id == "side")
        await until(pilot, lambda: app.workspace.state.request.viewed is not None)
        await until(pilot, lambda: inspector.view_shown == "http")
        assert "x.invalid/v1/messages" in "\n".join(rows_shown(inspector.views.current))
        await app.workspace.sessions.open_at("main", two)
        await settle(pilot)
        await pilot.press("ctrl+p", *"List the calls", "enter")
        await until(pilot, lambda: isinstance(inspector.views.current, CallsView))
        await until(pilot, lambda: "3 calls" in " ".join(rows_shown(inspector.views.current)))
        assert inspector.views.current.has_focus


# --- A session that grows in the app while another program's calls are recorded -----------


async def test_it_follows_the_calls_of_the_running_program(tmp_path: Path):
    await record(tmp_path, REQUEST)
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await workspace.sessions.open(state_of(app).sessions[0].session_id)
        await until(pilot, lambda: state_of(app).request.viewed is not None)
        reply = {"role": "assistant", "content": state_of(app).entries[-1].message.content}
        first = REQUEST["messages"][0]
        more = {**REQUEST, "messages": [first, reply, {**first, "content": "And now?"}]}
        await record(tmp_path, more, first_id=100)
        await workspace.windows.check()
        await until(pilot, lambda: len(state_of(app).entries) == 5)
        inspector = app.query_one(Inspector)

        def newest() -> str:
            composed = inspector.composed
            return composed.envelope.turns[-1].text.plain if composed is not None else ""

        await until(pilot, lambda: newest() == "And now?")
        assert state_of(app).request.viewed is not None
