"""Pictures of what is done with a whole conversation: forks, summaries, snippets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.app.test_mutes import muted, with_tools
from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import Album
from tui_chat.models.model_facts import ModelFacts
from tui_chat.workspace.events import BranchChanged


async def test_a_fork(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        await say(pilot, "Which ferries go to Kos?")
        app.chat.pane.transcript.focus()
        await pilot.press("f")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await album.take(pilot, "its title")
        await pilot.press(*"Ferries in winter", "enter")
        await until(pilot, lambda: app.chat.pane.title_line.title == "Ferries in winter")
        await pilot.press("f2")
        await settle(pilot)
        await album.take(pilot, "header and list")


async def test_a_summary(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        for words in ("Which ferries go to Kos?", "And from Athens?", "How long does it take?"):
            await say(pilot, words)
        workspace = app.workspace
        assert workspace is not None
        endpoint = replace(
            workspace.state.endpoint, facts=(("*", ModelFacts(context_limit=110, max_output=20)),)
        )
        workspace.update(BranchChanged(), endpoint=endpoint)
        line = app.chat.pane.activity
        await until(pilot, lambda: "no longer fit" in str(line.render()))
        await album.take_matrix(pilot, "what no longer fits")
        facts = (("*", ModelFacts(context_limit=10_000, max_output=20)),)
        workspace.update(BranchChanged(), endpoint=replace(endpoint, facts=facts))
        await pilot.press(*"/compact", "enter")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await album.take(pilot, "question")
        await pilot.press("y")
        await until(pilot, lambda: bool(app.screen.query("TextAreaPrompt TextArea")))
        await album.take(pilot, "to be read")
        await pilot.press("enter")
        await until(pilot, lambda: len(workspace.state.entries) == 7)
        app.chat.pane.transcript.focus()
        await pilot.press("end")
        await album.take(pilot, "on")
        await pilot.press("space")
        await until(pilot, lambda: b"ferries" in workspace.requests.compose("").payload.body)
        await album.take(pilot, "off")


async def test_a_snippet(album: Album, tmp_path: Path) -> None:
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "review.md").write_text(
        "---\ndescription: Review a change\n---\n"
        "Review this {{?language::Python}} code in a {{?tone::friendly|strict}} tone:\n"
        "{{?code}}\n"
    )
    (tmp_path / "snippets" / "damaged.md").write_text("Review {{?what")
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        await app.run_action("composer.insert_snippet")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await album.take(pilot, "which one")
        await pilot.press(*"review", "enter")
        await until(pilot, lambda: bool(app.chat.pane.composer.blanks))
        await pilot.press("tab", "down")
        await album.take(pilot, "its blanks")


async def test_muted_messages(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await with_tools(pilot)
        await pilot.press("M")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await settle(pilot)
        await album.take(pilot, "chooser")
        await pilot.press("enter")  # the reasoning
        await until(pilot, lambda: muted(app)[-1].reasoning)
        await pilot.press("k", "m", "k", "k", "k", "k", "m")  # a result, and the first question
        await until(pilot, lambda: muted(app)[0].whole)
        await settle(pilot)
        await album.take(pilot, "marked")
        await pilot.press("w")
        await settle(pilot)
        await album.take(pilot, "in the context")
