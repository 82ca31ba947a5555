"""Pictures of the screens of the app."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.support.app import asked, make_app, opened, say, settle, until
from tests.support.conversations import store_conversation
from tests.support.messages import make_message, thought
from tests.support.old_sessions import filled
from tests.support.pictures import MEDIUM, NARROW, Album
from tests.support.preset_app import app_with, at_rest, edited, press
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.message import Message, Muted, References, Source
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.role import Role
from tui_chat.models.session import Entry
from tui_chat.models.settings import Settings
from tui_chat.models.tool import CommandTool
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.workspace.attachments import Attachment
from tui_chat.workspace.events import BranchChanged
from tui_chat.workspace.workspace import Workspace

LAYOUTS = ((240, 60), (120, 35), (80, 24), (50, 18))


def workspace_of(app: TuiChat) -> Workspace:
    assert app.workspace is not None
    return app.workspace


async def ask(pilot: Pilot[None], *keys: str, action: str = "") -> None:
    """Press keys, or run an action, and wait for the dialog that opens."""
    await pilot.press(*keys)
    if action:
        await pilot.app.run_action(action)
    await asked(pilot)


async def leave(pilot: Pilot[None]) -> None:
    """Close all dialogs."""
    while len(pilot.app.screen_stack) > 1:
        await pilot.press("escape")
        await settle(pilot)


async def test_beginning(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path)) as pilot:
        await opened(pilot)
        await album.take(pilot, "first-run")
        await album.take(pilot, "first-run", NARROW)
        await pilot.press("f1")
        await album.take(pilot, "keys", MEDIUM)
        await pilot.press("escape")
        await ask(pilot, "ctrl+p")
        await pilot.press(*"session")
        await settle(pilot)
        await album.take(pilot, "palette", MEDIUM)
        await leave(pilot)
        await ask(pilot, action="sessions.edit_roles")
        await pilot.press("enter")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "RoleForm")
        await album.take(pilot, "role-form")


async def test_replies(album: Album, tmp_path: Path):
    """One that comes to a standstill in its middle, and one that fails."""
    async with album.of(make_app(tmp_path, model="flaky-stall", retries=0)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "Tell me about the ferry."
        await pilot.press("enter")

        def arrived() -> str:
            partial = workspace_of(app).state.partial
            return str(partial.reply.text) if partial is not None else ""

        await until(pilot, lambda: "never once looked" in arrived())
        await album.take(pilot, "arriving-reply")
        await album.take(pilot, "arriving-reply", NARROW, "light")
        await pilot.press("escape")
        state = workspace_of(app)
        await until(pilot, lambda: not state.state.is_streaming)
        await state.settings.set_model("loopback", "flaky-500")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: state.state.entries[-1].status == "failed")
        app.chat.transcript.focus()
        await album.take(pilot, "failed-second-version")
        await album.take(pilot, "failed-second-version", NARROW, "mono")


WEATHER = CommandTool(
    ToolDefinition(
        "get_weather",
        "The weather in a city.",
        {"type": "object", "properties": {"city": {"type": "string"}}},
    ),
    command=("weather-now", "--json"),
)


async def test_tool_calls(album: Album, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")  # the question names the folder
    seconds = 0.0
    app = make_app(tmp_path, model="toolsmith", tools=(WEATHER,), key_clock=lambda: seconds)
    async with album.of(app) as pilot:
        await opened(pilot)
        await say(pilot, "How is the weather in Paris?")
        await pilot.press("f8")
        seconds = 10.0
        question = app.query_one(ToolQuestion)
        await until(pilot, lambda: question.is_armed)
        await album.take(pilot, "tool-question")
        await ask(pilot, "e")
        await album.take(pilot, "edited-arguments")
        await leave(pilot)
        await ask(pilot, action="tool_calls.choose_tools")
        await album.take(pilot, "tools-of-session")


async def test_typing(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        await pilot.press("/")
        await until(pilot, lambda: composer.suggestions.is_open)
        await album.take(pilot, "commands", NARROW)
        await album.take(pilot, "commands", NARROW, "contrast")
        composer.text = "What would you take along?"
        part = MediaBlock("image", "image/png", data="iVBORw0KGgo=", name="photo.png")
        app.chat.drafts.show_attachments((Attachment(Path("photo.png"), 34_000, part),))
        composer.post_message(events.Paste("\n".join(f"line {n}" for n in range(400))))
        await settle(pilot)
        composer.insert("\n\n1. a rope\n2. a map, and 一把伞\n3. bread")
        await settle(pilot)
        await album.take(pilot, "paste-and-file", MEDIUM)


PAGE = Source("The ferries of the Dodecanese", "https://ferries.example/kos")
TALK = (
    Message.of("user", "Which ferries go to Kos?"),
    make_message(
        "assistant",
        "Let me look.",
        tool_calls=(
            CallBlock("c1", "search", '{"query": "ferry Kos"}'),
            CallBlock("c2", "find", "{}"),
        ),
        reasoning=(thought(Protocol.ANTHROPIC, "Piraeus, then Kos."),),
    ),
    make_message("tool", "Blue Star, 12 hours", tool_call_id="c1", name="search"),
    make_message(
        "assistant",
        "Two lines go there, see `search`:\n\n| line | hours |\n|:--|--:|\n| **Blue Star** | 12 |\n"
        "| Dodekanisos | 3 |\n\n"
        "```python\nfor ferry in ferries:  # each one\n    print(ferry)\n```\n\n"
        "1. Book early.\n2. [Look it up](https://ferries.example).",
        references=References((PAGE,)),
    ),
    Message.of("user", "And hidden: a\u202eb\x1b[31m, שלום, 木漏れ日?", muted=Muted(whole=True)),
    Entry(
        Message.of("assistant", "Only half of"),
        status="failed",
        error="The server closed the connection.",
        advice="Regenerate, or choose another model.",
    ),
)


async def test_a_conversation(album: Album, tmp_path: Path):
    await store_conversation(tmp_path, *TALK, title="Ferries to Kos")
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        for size in LAYOUTS:
            await album.take(pilot, "layout", size)
        app.chat.transcript.focus()
        await pilot.press("home")
        await album.take(pilot, "conversation", MEDIUM)
        await album.take(pilot, "conversation", MEDIUM, "light")
        await pilot.press("j", "enter", "slash", *"ferr")
        await settle(pilot)
        await album.take(pilot, "words-found", MEDIUM)
        await pilot.press("escape", "end", "k")
        await settle(pilot)
        await album.take(pilot, "muted-and-failed", MEDIUM)


async def test_a_summary(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        for words in ("Which ferries go to Kos?", "And from Athens?", "How long does it take?"):
            await say(pilot, words)
        workspace = workspace_of(app)
        facts = (("*", ModelFacts(context_limit=110, max_output=20)),)
        endpoint = replace(workspace.state.endpoint, facts=facts)
        workspace.update(BranchChanged(), endpoint=endpoint)
        line = app.chat.activity
        await until(pilot, lambda: "no longer fit" in str(line.render()))
        await album.take(pilot, "what-no-longer-fits", MEDIUM)
        facts = (("*", ModelFacts(context_limit=10_000, max_output=20)),)
        workspace.update(BranchChanged(), endpoint=replace(endpoint, facts=facts))
        await ask(pilot, *"/compact", "enter")
        await pilot.press("y")
        await until(pilot, lambda: bool(app.screen.query("TextAreaPrompt TextArea")))
        await pilot.press("enter")
        await until(pilot, lambda: len(workspace.state.entries) == 7)
        app.chat.transcript.focus()
        await pilot.press("end")
        await album.take(pilot, "summary", MEDIUM)


ENTRIES = [
    {"name": "Lighthouse", "keys": ["light"], "content": "It is old.", "scanDepth": 1},
    {"name": "Keeper", "keys": ["keeper"], "content": "Ada.", "scanDepth": 1, "sticky": 4},
    {"name": "Salt", "keys": ["salt"], "content": "White.", "scanDepth": 1, "cooldown": 3},
    {"name": "Storm", "keys": ["salt"], "content": "Loud.", "secondaryKeys": ["night"]},
    {"name": "Old map", "keys": ["map"], "content": "Torn.", "enabled": False},
    {"name": "Year", "content": "It is 1900.", "constant": True},
]


async def test_the_inspector(album: Album, tmp_path: Path):
    (tmp_path / "lorebooks").mkdir()
    (tmp_path / "lorebooks" / "coast.json").write_text(json.dumps({"entries": ENTRIES}))
    async with album.of(app_with(tmp_path, model="lorem:max:40")) as pilot:
        app = await opened(pilot)
        inspector, workspace = app.query_one(Inspector), workspace_of(app)
        await workspace.presets.choose("mine")
        await workspace.settings.set_lorebooks(("coast",))
        for words in ("Who is the keeper?", "Salt, please."):
            await say(pilot, words)
        app.query_one(Composer).text = "木漏れ日 tells {{user}} more?"
        app.panes.show_area(app.inspector)
        inspector.focus()
        for view in ("context", "payload", "http", "diff", "budget", "lore", "notes"):
            inspector.view_shown = view
            await settle(pilot)
            await album.take(pilot, view)
        inspector.view_shown = "payload"
        app.inspector.show_message_request(workspace.state.entries[1].message.id)
        await until(pilot, lambda: inspector.is_banner_up)
        await album.take(pilot, "sent-request", theme="light")
        await album.take(pilot, "sent-request", NARROW)


async def test_edits_by_hand(album: Album, tmp_path: Path):
    async with album.of(app_with(tmp_path, model="lorem:max:40")) as pilot:
        app = await opened(pilot)
        await say(pilot, "What do you see?")
        app.query_one(Composer).text = "And the sea?"
        app.panes.show_area(app.inspector)
        view = app.query_one(Inspector).views.payload
        view.focus()
        for pointer in ("/messages/0/content", "/messages/1/content"):
            view.go_to(pointer)
            await settle(pilot)
            await ask(pilot, "e")
            app.screen.query_one(TextArea).text = "What do you hear?"
            await pilot.press("ctrl+s")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        view.go_to("/messages/2")
        await pilot.press("delete")
        view.go_to("/messages/0/content")
        view.focus()
        await settle(pilot)
        await album.take(pilot, "edited-body")
        await app.run_action("inspector.show_view('notes')")
        await settle(pilot)
        await album.take(pilot, "edits")


async def test_the_users_files(album: Album, tmp_path: Path):
    (tmp_path / "lorebooks").mkdir()
    coast = {"entries": ENTRIES, "tokenBudget": 200}
    (tmp_path / "lorebooks" / "coast.json").write_text(json.dumps(coast))
    async with album.of(make_app(tmp_path, model="echo"), MEDIUM) as pilot:
        app = await opened(pilot)
        await workspace_of(app).settings.set_lorebooks(("coast",))
        await ask(pilot, action="plugins.lorebooks")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        await album.take(pilot, "lore-entries", MEDIUM)


MESSAGES: list[dict[str, object]] = [
    {"id": "rules", "name": "Rules", "role": "system", "content": "Write plainly, {{user}}."},
    {"id": "who", "type": "user_profile"},
    {"id": "world", "name": "World", "type": "placeholder"},
    {"id": "sea", "name": "The sea", "role": "user", "content": "It is cold.", "order": 2,
     "anchorTarget": "world"},
    {"id": "moon", "name": "The moon", "role": "user", "content": "There are two.",
     "anchorTarget": "world", "enabled": False},
    {"id": "lost", "name": "Lost", "role": "user", "content": "Where?", "anchorTarget": "nowhere"},
    {"id": "history", "type": "chat_history"},
    {"id": "note", "name": "Author's note", "role": "user", "content": "[Quiet.]",
     "insertionPoint": -4},
    {"id": "start", "name": "Prefill", "role": "assistant", "content": "Then",
     "anchorPoint": "after"},
]  # fmt: skip


async def test_the_preset_editor(album: Album, tmp_path: Path):
    async with album.of(app_with(tmp_path, MESSAGES)) as pilot:
        pane = await edited(pilot)
        await press(pilot, "down", "space", "end")
        await at_rest(pilot, pane)
        await album.take(pilot, "preset")
        await album.take(pilot, "preset", NARROW)
        pane.rows.light(7)
        await press(pilot, "enter", *"{{la")
        await at_rest(pilot, pane)
        await album.take(pilot, "preset-message", MEDIUM, "light")
        pane.rows.focus()
        await press(pilot, "s", "tab", "tab", *"tone = dry")
        await at_rest(pilot, pane)
        await album.take(pilot, "preset-settings", MEDIUM)
        workspace_of(pilot.app).presets.revert()  # type: ignore[arg-type]


async def test_sessions(album: Album, tmp_path: Path):
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        await opened(pilot)
        await pilot.press("f2", "home", "shift+down")
        await settle(pilot)
        await album.take(pilot, "sessions")
        await pilot.press("escape", "slash", *"#work no")
        await settle(pilot)
        await album.take(pilot, "filtered-sessions", NARROW)


async def test_settings(album: Album, tmp_path: Path):
    """One of the session, some of the role, some refused, and one that is not accepted."""
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        settings = Settings(temperature=0.4, max_tokens=2_000)
        role = await workspace_of(app).roles.save(Role("", "Writer", settings=settings))
        await workspace_of(app).sessions.choose_role(role.role_id)
        await ask(pilot, "f5")
        await pilot.press(*"0.8", "down", *"3", "up", "up")
        await album.take(pilot, "session-settings")
        await leave(pilot)
        await pilot.press(*"/temporary", "escape", "enter")
        await until(pilot, lambda: workspace_of(app).state.is_temporary)
        await say(pilot, "Just between us.")
        await album.take(pilot, "temporary-session", MEDIUM)
