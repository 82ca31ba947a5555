"""The inspector in the app: what is sent, was sent, would be sent, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Static, TextArea

from tests.support.app import (
    asked,
    make_app,
    opened,
    rows_shown,
    say,
    settle,
    told,
    until,
    workspace_of,
)
from tests.support.preset_app import SIZE, app_with, edited, press
from tests.support.vendors import ENDPOINTS, HttpRequest
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.turn_file import TurnReply, dump_turn
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.views import views

WIDE = (160, 45)


def rows_of(inspector: Inspector) -> str:
    return "\n".join(rows_shown(inspector.views.current))


def count_of_history(composed: Composed) -> int:
    return sum(turn.origin.kind is OriginKind.HISTORY for turn in composed.envelope.turns)


async def test_the_inspected_request_is_sent_whichever_view_was_open(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    async with make_app(tmp_path, on_request=received.append).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        inspector = app.query_one(Inspector)
        for number, view in enumerate(views()):
            app.query_one(Composer).text = f"Question {number}"
            await settle(pilot)
            inspector.view_shown = view
            app.inspector.action_show_in_protocol(list(Protocol)[number % len(Protocol)])
            await settle(pilot)
            app.inspector.action_show_in_protocol(Protocol.OPENAI_CHAT)
            await settle(pilot)
            question = f"Question {number}".encode()
            await until(
                pilot,
                lambda question=question: (
                    inspector.composed is not None and question in inspector.composed.payload.body
                ),
            )
            seen = inspector.composed.payload.body
            await say(pilot, f"Question {number}")
            assert received[-1].body == seen


async def test_a_reply_shows_the_request_that_produced_it_until_escape(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    async with make_app(tmp_path, on_request=received.append).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "First")
        await say(pilot, "Second")
        inspector = app.query_one(Inspector)
        transcript = app.query_one(Transcript)
        transcript.go_to(1)
        app.conversation.action_inspect()
        await until(pilot, lambda: inspector.is_banner_up)
        await settle(pilot)
        assert inspector.composed.payload.body == received[0].body
        app.query_one(Composer).text = "typed meanwhile"
        await settle(pilot)
        assert inspector.composed.payload.body == received[0].body
        inspector.focus()
        await press(pilot, "3")
        assert inspector.composed.protocol is Protocol.ANTHROPIC
        await press(pilot, "escape")
        assert not inspector.is_banner_up
        assert b"typed meanwhile" in inspector.composed.payload.body


async def test_a_captured_request_is_read_converted_and_stored(tmp_path: Path) -> None:
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "system": "You are a gardener.",
        "messages": [{"role": "user", "content": "What grows under pines?"}],
        "tools": [{"name": "dig", "description": "", "input_schema": {"type": "object"}}],
        "top_p": 0.5,
    }
    sent = compose(Inputs(ENDPOINTS[0], Preset("theirs"), draft="From a file"))
    reply = TurnReply(Message.of("assistant", "It came back.", id="r"), "complete", "m", "there")
    async with make_app(tmp_path, captured=dump_turn(sent, sent.payload.body, reply)).run_test(
        size=WIDE, notifications=True
    ) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.is_banner_up)
        assert inspector.composed is not None

        def shown() -> dict[str, object]:
            return json.loads(inspector.composed.payload.body)

        await until(pilot, lambda: shown() == json.loads(sent.payload.body))
        assert inspector.composed.payload.body == sent.payload.body
        banner = inspector.query_one("#inspector-banner", Static)
        assert "same SHA-256" in str(banner.render())
        await until(pilot, lambda: inspector.has_focus_within)
        inspector.action_view("reply")
        await until(pilot, lambda: inspector.view_shown == "reply")
        await until(
            pilot,
            lambda: any("It came back." in row for row in rows_shown(inspector.views.current)),
        )
        inspector.action_view("payload")
        app.inspector.action_save_captured()
        await asked(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries))
        came = workspace.state.entries[-1]
        assert (came.message.content, came.model, came.endpoint) == ("It came back.", "m", "there")
        await until(pilot, lambda: not inspector.is_banner_up)
        await settle(pilot)
        app.inspector.action_open_captured()
        await asked(pilot)
        app.screen.query_one(TextArea).text = f"curl -d '{json.dumps(body)}' https://x"
        await pilot.press("enter")
        await until(pilot, lambda: shown().get("system") == "You are a gardener.")
        await until(pilot, lambda: inspector.is_banner_up)
        await settle(pilot)
        tokens, budget = inspector.composed.envelope.tokens, inspector.composed.envelope.budget
        assert budget is not None
        assert len(tokens) == 2
        assert min(tokens) > 4
        assert sum(tokens) < budget.total
        app.inspector.action_show_in_protocol(Protocol.GEMINI)
        await until(pilot, lambda: "contents" in shown())
        await settle(pilot)
        app.inspector.action_save_captured()
        await asked(pilot)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                [entry.message.content for entry in workspace.state.entries][:1]
                == ["What grows under pines?"]
            ),
        )
        await settle(pilot)
        assert workspace.state.entries[0].message.content == "What grows under pines?"
        await until(pilot, lambda: "Its model claude-sonnet-5" in told(app))
        assert "is not offered here: the session uses mirror." in told(app)
        assert "Not kept: tools (dig)." in told(app)
        assert b"You are a gardener." in workspace.requests.compose("").payload.body
        assert workspace.state.session.settings.max_tokens == body["max_tokens"]


async def test_messages_and_payload_places_reveal_each_other(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await say(pilot, "First")
        first = workspace.state.entries[0].message
        transcript, inspector = app.query_one(Transcript), app.query_one(Inspector)
        transcript.go_to(0)
        app.conversation.action_reveal()
        await settle(pilot)
        under = inspector.views.payload.under
        assert (under.origin.kind, under.origin.id) == (OriginKind.HISTORY, first.id)
        assert inspector.views.payload.has_focus
        for view in ("payload", "context"):
            inspector.action_view(view)
            await settle(pilot)  # a view that is shown for the first time is laid out then
            await press(pilot, "w")
            await until(pilot, lambda: transcript.has_focus)
            await press(pilot, "w")
            await until(pilot, lambda: inspector.views.current.has_focus)
        inspector.action_view("payload")
        await press(pilot, "enter")
        await until(pilot, lambda: transcript.has_focus)
        await press(pilot, "J")
        assert inspector.views.payload.highlights.origin.id == workspace.state.entries[1].message.id
        await press(pilot, "K")
        assert transcript.current.message.id == first.id
        # What is typed lights up too, while one looks at it in the request.
        composer = app.query_one(Composer)
        composer.focus()
        composer.text = "Second"
        await settle(pilot)
        assert not composer.has_class("-lit")
        inspector.focus()
        inspector.views.payload.action_follow()
        await until(pilot, lambda: composer.has_class("-lit"))
        transcript.focus()
        await until(pilot, lambda: not composer.has_class("-lit"))


async def test_the_diff_base_can_be_chosen(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(178, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "First" + " and long" * 20)
        inspector = app.query_one(Inspector)
        inspector.focus()
        inspector.action_view("diff")
        await settle(pilot)
        await until(pilot, lambda: "First and" in rows_of(inspector))  # compared after a pause
        assert "against the last accepted request" in rows_of(inspector)
        cut_line = next(row for row in rows_of(inspector).splitlines() if "First and" in row)
        assert cut_line.rstrip().endswith("…")
        inspector.view_shown = "payload"
        app.query_one(Composer).text = "Typed while it was away"
        await settle(pilot)
        inspector.view_shown = "diff"
        inspector.focus()
        await settle(pilot)
        await pilot.press("G")  # below the reply, which is long
        await until(pilot, lambda: "Typed while it was away" in rows_of(inspector))
        await pilot.press("g")
        app.query_one(Composer).text = ""
        await settle(pilot)
        inspector.focus()
        await pilot.press("g", "enter")
        await asked(pilot)
        await press(pilot, *"Gemini", "enter")
        await until(pilot, lambda: "Gemini" in rows_of(inspector))


async def test_the_edited_preset_is_compared_with_the_saved_one(tmp_path: Path) -> None:
    async with app_with(tmp_path).run_test(size=SIZE) as pilot:
        pane = await edited(pilot)
        app = pilot.app
        inspector = app.query_one(Inspector)
        await press(pilot, "space")  # the first message is off
        inspector.focus()
        inspector.action_view("diff")
        await press(pilot, "g", "enter")
        await asked(pilot)
        await press(pilot, *"saved", "enter")
        await until(pilot, lambda: "preset mine as saved" in rows_of(inspector))
        assert "Be brief." in rows_of(inspector)
        pane.focus()
        await press(pilot, "u")
        await until(pilot, lambda: rows_shown(inspector.views.current)[0].endswith("the same"))
        await press(pilot, "home", "space")
        await until(pilot, lambda: "-4 +0" in rows_shown(inspector.views.current)[0])
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: rows_shown(inspector.views.current)[0].endswith("the same"))
