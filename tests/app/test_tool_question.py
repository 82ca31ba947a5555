"""The question whether a tool may run, and what is consented to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.support.app import make_app, opened, replied, say, screen_text, settle, until
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_calls, chat_text
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.message import Message
from tui_chat.models.tool import DECLINED, CommandTool
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import TextAreaPrompt

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ECHO = "import json, sys; print('in', json.load(sys.stdin)['city'])"
ECHO_CITY = CommandTool(
    ToolDefinition("echo_city", "A command answers.", SCHEMA),
    command=(sys.executable, "-c", ECHO),
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def pass_until(self, pilot: Pilot[None], question: ToolQuestion, *, armed: bool) -> None:
        """Let time pass, without a key, until the question has the focus, or its keys work."""

        def has_passed() -> bool:
            self.seconds += 0.1
            return question.has_focus and question.is_armed is armed

        await until(pilot, has_passed)


@pytest.fixture
def clock() -> Iterator[Clock]:
    return Clock()


async def asked(pilot: Pilot[None], text: str = "Use the tool.") -> tuple[TuiChat, ToolQuestion]:
    """Have the model call its tool."""
    app = await opened(pilot)
    await say(pilot, text)
    question = app.query_one(ToolQuestion)
    await until(pilot, lambda: question.call is not None)
    return app, question


def messages(app: TuiChat) -> list[Message]:
    return [entry.message for entry in app.workspace.state.entries]


async def result(pilot: Pilot[None], app: TuiChat) -> Message:
    """Wait until the call has a result and a reply to it; return the result."""
    await until(pilot, lambda: len(messages(app)) >= 4)
    await replied(pilot)
    return messages(app)[2]


async def test_it_takes_the_focus_when_no_key_is_pressed(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        await settle(pilot)
        assert app.focused is app.query_one(Composer), "a key was pressed just now"
        await clock.pass_until(pilot, question, armed=True)
        shown = screen_text(app)
        assert shown.count("Run “echo_city”? The model asks for it.") == 1
        assert "is waiting for" not in shown, "only the question says it"
        assert not app.query_one(Composer).display, "it has the composer's place"
        assert not app.query_one(Composer).text
        await pilot.press("enter", "space")
        assert len(messages(app)) == 2, "nothing is preselected"
        await pilot.press("y")
        assert "in " in (await result(pilot, app)).content
        assert question.call is None
        assert not question.display
        assert app.focused is app.query_one(Composer)


async def test_a_key_typed_ahead_goes_to_the_draft(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        clock.seconds = 10.0
        await until(pilot, lambda: question.has_focus)
        assert not question.is_armed
        for key in "yes":  # as if they came in one piece
            app.post_message(events.Key(key, key))
        composer = app.query_one(Composer)
        await until(pilot, lambda: composer.text == "yes")
        assert app.focused is composer
        assert len(messages(app)) == 2
        clock.seconds = 20.0
        await settle(pilot)
        assert app.focused is composer, "there is a draft"
        await pilot.press("f8")
        assert app.focused is question
        await pilot.press("y", "y")
        assert composer.text == "yes"
        assert len(messages(app)) == 2, "pressed before the question could be read"
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is composer)


async def test_it_does_not_take_the_focus_again_once_left(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        composer = app.query_one(Composer)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is composer)
        await pilot.press("y", "backspace")
        clock.seconds += 10
        await settle(pilot)
        assert app.focused is composer
        assert len(messages(app)) == 2
        app.query_one(Transcript).focus()
        await pilot.press("f8")
        assert app.focused is question


async def test_a_call_from_before_the_start_does_not_take_the_focus(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,))
    async with app.run_test(size=(120, 35)) as pilot:
        await asked(pilot)
    always_quiet = count().__next__
    async with make_app(
        tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=always_quiet
    ).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.workspace.sessions.activate(app.workspace.state.sessions[0].session_id)
        question, composer = app.query_one(ToolQuestion), app.query_one(Composer)
        await until(pilot, lambda: question.call is not None)
        await pilot.pause(0.1)  # by that clock, it would take the focus after 0.02 s
        assert app.focused is composer
        await pilot.press("n", "s")
        assert composer.text == "ns"
        assert len(messages(app)) == 2
        await pilot.press("f8")
        await until(pilot, lambda: question.is_armed)
        await pilot.press("y")
        assert "in " in (await result(pilot, app)).content


async def test_declining_tells_the_model(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("n")
        declined = await result(pilot, app)
        assert declined.content == DECLINED
        assert declined.failed is True


async def test_declining_and_stopping_gives_the_draft_the_focus(
    tmp_path: Path, clock: Clock
) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("s")
        await until(pilot, lambda: messages(app)[-1].content == DECLINED)
        await until(pilot, lambda: app.focused is app.query_one(Composer))
        assert messages(app)[-1].role == "tool", "nothing more is sent"


async def test_edited_arguments_run_and_the_model_is_told(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        app.screen.query_one(TextArea).text = '{"city": '
        await pilot.press("enter")
        await until(pilot, lambda: "not JSON" in str(app.screen.query("Static").first().render()))
        edited = json.dumps({"city": "Rome"})
        app.screen.query_one(TextArea).text = edited
        await pilot.press("enter")
        content = (await result(pilot, app)).content
        assert "in Rome" in content
        assert edited in content, "the answer is to other arguments than the model's"


async def test_always_lets_the_tool_run_in_this_session(tmp_path: Path, clock: Clock) -> None:
    app = make_app(tmp_path, model="toolsmith", tools=(ECHO_CITY,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("a")
        await result(pilot, app)
        await say(pilot, "Use the tool again.")
        await until(pilot, lambda: len(messages(app)) == 8)
        await replied(pilot)
        assert question.call is None
        await app.workspace.tools.revoke(("echo_city",))
        await say(pilot, "Use the tool once more.")
        await until(pilot, lambda: question.call is not None)
        assert len(messages(app)) == 10


async def test_a_tool_without_a_command_is_answered_by_hand(tmp_path: Path, clock: Clock) -> None:
    tool = CommandTool(ToolDefinition("ask_me", "A person answers.", SCHEMA))
    app = make_app(tmp_path, model="toolsmith", tools=(tool,), key_clock=clock)
    async with app.run_test(size=(120, 35)) as pilot:
        app, question = await asked(pilot)
        await clock.pass_until(pilot, question, armed=True)
        await pilot.press("y", "a", "e")
        assert len(app.screen_stack) == 1, "there is nothing to run"
        for key in "h", *"Rain.":  # as if they came in one piece
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        await until(pilot, lambda: app.screen.query_one(TextArea).text == "Rain.")
        await pilot.press("enter")
        assert (await result(pilot, app)).content == "Rain."


# --- The question about a tool call in the app: what must be seen before a key runs the tool


LONG = json.dumps({"q": "harmless " * 800 + "DANGEROUS TAIL"})


def config(provider: Provider, home: Path) -> str:
    command = json.dumps(["sh", "-c", f"cat >> '{home / 'log'}'; echo done"])
    return provider.config() + f'\n[tools.fmt]\ndescription = "Formats."\ncommand = {command}\n'


async def tries(screen: Screen, key: str, works: Callable[[], bool], times: int) -> bool:
    """Press a key, and again if it did nothing for a while: one that is pressed in haste does."""
    for _ in range(times):
        await screen.press(key)
        try:
            await screen.until(works, "It did nothing", seconds=0.7)
        except AssertionError:
            continue
        return True
    return False


def box(screen: Screen) -> list[str]:
    """Return the lines of the question."""
    rows = (line.partition("▏")[0].rstrip().split("▕")[-1] for line in screen.lines)
    return [row[2:-1].strip() for row in rows if row.startswith(" │") and row.endswith("│")]


async def asked_for(screen: Screen, words: str) -> None:
    await screen.type("hi")
    await screen.press("enter")
    await screen.sees("fmt is waiting for your answer")
    await screen.press("f8")
    await screen.sees("Run “fmt”? The model asks for it.", words)


async def test_nothing_runs_before_the_end_of_the_arguments_was_seen(tmp_path: Path):
    wrong: list[str] = []
    for number, (size, key) in enumerate(
        [((120, 40), "y"), ((120, 40), "t"), ((120, 40), "a"), ((80, 24), "y"), ((200, 60), "y")]
    ):
        home = tmp_path / str(number)
        with Provider(chat_calls(("fmt", LONG)), chat_text("Fine.")) as provider:
            home.mkdir()
            async with open_screen(home, config=config(provider, home), size=size) as screen:
                await asked_for(screen, " of ")

                def ran(provider: Provider = provider) -> bool:
                    return len(provider.received) == 2

                shown = box(screen)
                if any("DANGEROUS" in line for line in shown) or "PgDn" not in screen.text:
                    wrong.append(f"{size} {key}: not said that more follows\n{screen.text}")
                if not size[1] * 0.2 < len(shown) < size[1] * 0.4:
                    wrong.append(f"{size} {key}: {len(shown)} rows are shown")
                if await tries(screen, key, ran, 2):
                    wrong.append(f"{size} {key}: a key ran it unseen")
                    continue
                await screen.click_on("run once")
                await screen.rests()
                pages = 0
                while not any("TAIL" in line for line in box(screen)) and pages < 99:
                    await screen.press("pagedown")
                    await screen.rests()
                    pages += 1
                if ran():
                    wrong.append(f"{size} {key}: after {pages} pages\n{screen.text}")
                elif not await tries(screen, key, ran, 5):
                    wrong.append(f"{size} {key}: it does not run at the end\n{screen.text}")
        if (home / "log").exists() and (home / "log").read_text() != LONG:
            wrong.append(f"{size} {key}: ran with {(home / 'log').read_text()[:99]}")
    assert not wrong, "\n".join(wrong)


async def test_the_question_shows_what_runs_where_and_with_what_exactly(tmp_path: Path):
    arguments = '{"a":  "two   blanks", "b": "\u202egnp"}'
    with Provider(chat_calls(("fmt", arguments)), chat_text("Fine.")) as provider:
        async with open_screen(tmp_path, config=config(provider, tmp_path)) as screen:
            await asked_for(screen, '{"a":  "two   blanks", "b": "\\u202egnp"}')
            flat = "".join(box(screen))
            assert "/sh -c" in flat
            assert str(Path.cwd()) in flat
            assert "PgDn" not in screen.text
