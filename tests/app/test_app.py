"""The app as a person uses it: keys in, screen and bytes out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual import events
from textual.widgets import OptionList

from tests.support.app import (
    asked,
    make_app,
    opened,
    press,
    replied,
    say,
    settle,
    until,
    workspace_of,
)
from tests.support.vendors import HttpRequest
from tui_chat.errors import Refused
from tui_chat.protocols.common.error_body import response_error
from tui_chat.providers.retry import RetryPause
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.status_lines import ActivityLine
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.workspace.events import ReplyRetrying


async def test_the_inspector_follows_every_key_and_enter_sends_its_request(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(160, 45)
    ) as pilot:
        app = await opened(pilot)
        inspector = app.query_one(Inspector)
        for typed in ("h", "i", "space", "你", "ctrl+j", "x"):
            await pilot.press(typed)
            await pilot.pause()
            text = app.query_one(Composer).text
            await until(
                pilot,
                lambda text=text: (
                    (c := inspector.composed) is not None
                    and c.envelope.turns[-1].text.plain == text
                ),
            )
        shown = inspector.composed
        assert shown is not None
        assert received == []
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]
        assert app.workspace.state.entries[-1].message.content == "hi 你\nx"
        assert app.query_one(Composer).text == ""


async def test_keys_typed_while_it_starts_are_not_lost(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await pilot.press("e", "a", "r", "l", "y")
        await opened(pilot)
        assert app.query_one(Composer).text == "early"


async def test_enter_before_the_workspace_opens_sends_afterwards(tmp_path: Path):
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: app.workspace is not None)
        await replied(pilot)
        assert len(received) == 1
        assert app.workspace.state.entries[-1].message.content == "hi"
        assert app.query_one(Composer).text == ""


async def test_esc_stops_the_reply_and_keeps_it(tmp_path: Path):
    async with make_app(tmp_path, model="flaky-stall").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "go"
        await pilot.press("enter")
        workspace = workspace_of(app)
        await until(
            pilot,
            lambda: (
                workspace.state.partial is not None and bool(workspace.state.partial.reply.text)
            ),
        )
        await pilot.press("f2", "slash", "escape")  # which leaves the filter, and no more
        assert app.query_one(SessionsPane).rows.has_focus
        assert workspace.state.is_streaming
        await pilot.press("escape")  # which stops the reply, and no more
        await replied(pilot)
        assert app.query_one(SessionsPane).rows.has_focus
        await pilot.press("escape")
        assert app.query_one(Composer).has_focus
        assert workspace.state.entries[-1].status == "stopped"
        assert workspace.state.entries[-1].message.content


async def test_enter_twice_sends_once(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "once"
        composer = app.query_one(Composer)
        composer.action_submit()
        composer.action_submit()
        await replied(pilot)
        assert len(received) == 1
        assert composer.text == ""


async def test_a_reply_continues_under_an_open_dialog(tmp_path: Path):
    async with make_app(tmp_path, model="lorem:max:400").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "go"
        await pilot.press("enter", "f5")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await replied(pilot)
        assert app.workspace.state.entries[-1].status == "complete"
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.query_one(Transcript).entries == app.workspace.state.entries


async def test_drafts_belong_to_their_session_and_survive_a_restart(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first")
        workspace = workspace_of(app)
        stored, goes_on = workspace.replies.submit, asyncio.Event()

        async def slow_disk(draft: str, *more: Any) -> bool:
            await goes_on.wait()
            return await stored(draft, *more)

        workspace.replies.submit = slow_disk
        app.query_one(Composer).text = "on its way"
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Composer).text == "")
        await app.chat.drafts.save()
        assert await workspace.sessions.draft() == "on its way", "until it is stored as said"
        goes_on.set()
        await replied(pilot)
        await app.workers.wait_for_complete()
        await until(pilot, lambda: app.key_queue.is_idle)
        assert await workspace.sessions.draft() == ""
        app.query_one(Composer).text = "unfinished"
        await pilot.press("ctrl+n")
        await until(
            pilot, lambda: app.workspace is not None and app.workspace.state.session is None
        )
        await app.workers.wait_for_complete()
        assert app.query_one(Composer).text == ""
        await say(pilot, "second")
        await pilot.press("ctrl+q")
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        assert [s.title for s in app.workspace.state.sessions] == ["second", "first"]
        assert app.workspace.state.session.title == "second"
        first = app.workspace.state.sessions[1].session_id
        app.sessions.action_open(first)
        await until(pilot, lambda: app.query_one(Composer).text == "unfinished")


async def test_a_megabyte_can_be_pasted_and_sent(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        from textual.events import Paste

        big = "All work and no play. 你好\n" * 40_000
        app.query_one(Composer).post_message(Paste(big))
        await until(pilot, lambda: app.query_one(Composer).text == big)
        await until(
            pilot,
            lambda: (
                (c := app.query_one(Inspector).composed) is not None
                and len(c.payload.body) > len(big)
            ),
        )
        shown = app.query_one(Inspector).composed
        await pilot.press("enter")
        await replied(pilot)
        assert received[0].body == shown.payload.body


async def test_a_model_without_a_key_says_so_on_a_narrow_screen_too(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await press(pilot, *"openai-responses")
        options = app.screen.query_one(OptionList)
        rows = [options.render_line(y).text for y in range(options.option_count)]
        assert len(rows) == 3
        assert all("no key yet" in row for row in rows), rows


async def test_a_switched_model_answers(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, on_request=received.append).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"zzz z", "enter")
        options = app.screen.query_one(OptionList)
        assert "No matches" in str(options.get_option_at_index(0).prompt)
        await pilot.press("ctrl+u", *"echo gemini")
        await pilot.press("enter")
        await until(
            pilot, lambda: app.workspace is not None and app.workspace.state.model == "echo"
        )
        await say(pilot, "hello")
        assert received[0].path == "/v1beta/models/echo:streamGenerateContent"


async def test_an_offline_model_is_offered_once_until_its_protocol_is_typed(tmp_path: Path):
    async with make_app(tmp_path, endpoint="loopback-gemini", model="echo").run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen_stack) == 2)

        def offered(name: str) -> list[str]:
            options = app.screen.query_one(OptionList).options
            return [each.id or "" for each in options if f"\n{name}" in (each.id or "")]

        assert offered("mirror") == ["loopback\nmirror"]
        assert offered("echo") == ["loopback\necho", "loopback-gemini\necho"], "the current one"
        await pilot.press(*"mir gem")
        await until(pilot, lambda: offered("mirror") == ["loopback-gemini\nmirror"])


async def test_an_endpoint_that_is_typed_exactly_wins_in_the_picker(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)

        async def pick(typed: str, endpoint: str, model: str) -> None:
            await pilot.press("ctrl+o")
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await pilot.press(*typed, "enter")
            await until(
                pilot,
                lambda: (
                    app.workspace is not None
                    and (app.workspace.state.endpoint.name, app.workspace.state.model)
                    == (endpoint, model)
                ),
            )

        await pick("loopback-gemini echo", "loopback-gemini", "echo")
        # The present choice fits what is typed as well, and was kept.
        await pick("loopback", "loopback", "mirror")
        await pick("loopback-responses lorem", "loopback-responses", "lorem")
        await pick("loopback lorem", "loopback", "lorem")
        await pick("loopback-gemini/echo", "loopback-gemini", "echo")
        await app.sessions.action_choose_model("loopback-anthropic").wait()
        assert (app.workspace.state.endpoint.name, app.workspace.state.model) == (
            "loopback-anthropic",
            "mirror",
        )


async def test_an_unopenable_database_is_reported_with_advice(tmp_path: Path):
    (tmp_path / "chat.db").write_bytes(b"this is no database, " * 400)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
    assert (tmp_path / "chat.db").read_bytes().startswith(b"this is no database")


async def test_a_retry_stands_in_the_status_line(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45), notifications=True) as pilot:
        app = await opened(pilot)
        activity = app.query_one(ActivityLine)
        activity.is_streaming = True
        refused = response_error(429, b'{"error": {"message": "Slow down."}}')
        app.lifecycle.handle(ReplyRetrying(RetryPause(4.0, 2, 3, refused)))
        text = activity.render().plain
        assert "in 4 s · HTTP 429 Too Many Requests: Slow down." in text
        pause = RetryPause(3.5, 2, 3, Refused("Too many requests.", status=429))
        app.lifecycle.handle(ReplyRetrying(pause))
        assert "Retrying (2 of 3) in 4 s · Too many requests." in activity.render().plain
        activity.data_received(is_saved=True)
        assert "Retrying" not in activity.render().plain
        assert not app.notifications.shown


async def test_the_last_reply_is_replayed_though_a_system_message_follows(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hi")
        reply = app.workspace.state.entries[-1].message.id
        await app.workspace.branches.add_system_message("Be brief.")
        await settle(pilot)
        await app.run_action("inspector.replay")
        await asked(pilot)
        await pilot.press(*"mirror", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await replied(pilot)
        assert app.workspace.state.entries[-1].message.id != reply
        assert app.workspace.state.entries[-1].siblings == 2


async def test_ctrl_r_right_after_enter_is_about_the_message_that_was_sent(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        app.query_one(Composer).text = "two"
        await settle(pilot)
        for key in ("enter", "ctrl+r"):
            app.post_message(events.Key(key, None))
        await until(pilot, lambda: app.query_one(Composer).text == "")
        await replied(pilot)
        await settle(pilot)
        texts = [entry.message.content for entry in app.workspace.state.entries]
        assert texts[:3] == ["one", "one", "two"], "the branch goes on after the first reply"
        assert app.workspace.state.entries[1].siblings == 1
