"""Prompts and documents of servers in the composer: listed, filled, attached, and what fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.app import asked, make_app, opened, settle, until
from tests.support.messages import make_message
from tests.support.tool_servers import TextServer, tool_servers
from tui_chat.models.about import Brought
from tui_chat.models.message import Message
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.workspace.source_texts import PromptArgument, SourcePrompt

ORIGIN = "git:commit (Server 1.0)"
Serve = Callable[..., TextServer]


def said(text: str) -> Message:
    return make_message("user", text, brought=Brought(prompt=ORIGIN))


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    with ExitStack() as stack:

        def install(text: str, *arguments: PromptArgument) -> TextServer:
            prompt = SourcePrompt("git", "commit", "Writes\u200b a message", arguments)
            server = TextServer("git", [prompt], [said(text)])
            stack.enter_context(tool_servers(tmp_path, monkeypatch, server))
            return server

        yield install


def listed(composer: Composer) -> list[str]:
    options = composer.suggestions
    return [str(options.get_option_at_index(n).prompt) for n in range(options.option_count)]


async def test_a_prompt_is_completed_filled_and_sent(tmp_path: Path, serve: Serve) -> None:
    server = serve("Describe it.", PromptArgument("what", "Which\x1b[2J?", required=True))
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app: TuiChat = await opened(pilot)
        composer = app.chat.composer
        await pilot.press(*"/gi")
        await until(pilot, lambda: bool(app.workspace and app.workspace.state.tool_sources))
        await pilot.press("t")
        await until(pilot, lambda: any("/git:" in line for line in listed(composer)))
        assert not server.lists + server.loads, "nothing is asked before the server is named"
        await pilot.press(*":")
        await until(pilot, lambda: any("/git:commit what" in line for line in listed(composer)))
        assert "Writes" in listed(composer)[0]
        await pilot.press("tab", "enter")
        await asked(pilot)
        await pilot.press(*"the flag", "enter")
        await until(pilot, lambda: composer.text == "Describe it.")
        assert server.arguments == [{"what": "the flag"}]
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press(*" Now", "enter")
        await until(pilot, lambda: len(app.workspace.state.entries) == 2)
        sent = app.workspace.state.entries[0].message
        assert sent.content == "Describe it. Now"
        assert sent.about.brought == Brought(prompt=ORIGIN)


async def test_a_prompt_that_looks_like_a_command_is_a_message(
    tmp_path: Path, serve: Serve
) -> None:
    server = serve("/quit now")
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        composer.text = "/git:commit"
        composer.action_submit()
        await until(pilot, lambda: composer.text == "//quit now")
        assert server.arguments == [{}]
        await pilot.press("enter")
        await until(pilot, lambda: len(app.workspace.state.entries) == 2)
        assert app.workspace.state.entries[0].message.content == "/quit now"
        assert app.workspace.state.entries[0].message.about.brought


async def test_what_was_typed_comes_back_if_there_is_no_such_prompt(
    tmp_path: Path, serve: Serve
) -> None:
    serve("Hello", PromptArgument("what", "", required=True))
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        for number, typed in enumerate(("/gone:commit now", "/git:push"), 1):
            composer.text = typed
            composer.action_submit()
            await until(pilot, lambda number=number: len(app.notifications.log) == number)
            await until(pilot, lambda typed=typed: composer.text == typed)
        assert "“git” has no prompt “push”" in app.notifications.log[-1].message
        composer.text = "/git:commit"
        composer.action_submit()
        await asked(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: composer.text == "/git:commit")


async def test_a_document_is_listed_and_attached(tmp_path: Path, serve: Serve) -> None:
    server = serve("")
    server.contents = {"notes://a": [b"one"], "notes://b": [b"two"]}
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        await pilot.press(*"Look: @git:")
        await until(pilot, lambda: any("git:notes://a" in line for line in listed(composer)))
        assert any("git:day://{date}" in line for line in listed(composer))
        await pilot.press(*"notes://b")
        await until(pilot, lambda: len(listed(composer)) == 1)
        await pilot.press("tab")
        await until(pilot, lambda: bool(app.chat.drafts.attachments))
        (attached,) = app.chat.drafts.attachments
        assert (attached.name, attached.part.text) == ("git:notes://b", "two")
        assert composer.text == "Look: "
        await pilot.press(*"@git:day://1")
        await until(pilot, lambda: any("Ask for this" in line for line in listed(composer)))
        await pilot.press("tab")
        await until(pilot, lambda: bool(app.notifications.log))
        assert "git has no day://1" in app.notifications.log[-1].message
        await settle(pilot)
        assert len(app.chat.drafts.attachments) == 1
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await until(pilot, lambda: bool(app.chat.drafts.attachments))
        assert app.chat.drafts.attachments == (attached,), "it is not read again"
