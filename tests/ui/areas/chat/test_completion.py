"""What is asked for while one types, and what the keys do with the candidates."""

from __future__ import annotations

from tests.ui.areas.chat.test_composer import Stage
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.completion import CompletionQuery, Suggestion, completion_query_at
from tui_chat.ui.slash_commands import complete_command

MODEL = Suggestion("/model ", "/model MODEL", "Switch model", is_complete=False)
HELP = Suggestion("/help", "/help", "Show all keys")


async def test_the_marked_candidate_is_inserted_and_enter_runs_a_complete_one() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.press("/")
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (MODEL, HELP))
        await pilot.press("enter")
        assert (app.composer.text, app.sent()) == ("/model ", [])
        app.composer.text = "/"
        await pilot.pause()
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (MODEL, HELP))
        await pilot.press("down", "enter")
        await pilot.pause()
        assert (app.composer.text, app.sent()) == ("/help", ["/help"])
        assert not app.composer.suggestions.is_open


async def test_tab_completes_and_does_not_send_and_esc_only_closes() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.press("/")
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (HELP,))
        await pilot.press("escape")
        assert not app.composer.suggestions.is_open
        assert app.back.run == []
        await pilot.press("h")
        app.composer.suggestions.offer(CompletionQuery("command", "h", 0), (HELP,))
        await pilot.press("tab")
        assert (app.composer.text, app.sent()) == ("/help", [])
        assert app.composer.has_focus


async def test_a_file_becomes_a_chip_and_a_folder_completes_further() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.press(*"see @s")
        app.composer.suggestions.offer(
            CompletionQuery("path", "s", 4), (Suggestion("@src/", "src/", is_complete=False),)
        )
        await pilot.press("enter")
        assert app.composer.text == "see @src/"
        app.composer.suggestions.offer(
            CompletionQuery("path", "src/", 4), (Suggestion("src/main.py", "src/main.py"),)
        )
        await pilot.press("enter")
        await pilot.pause()
        paths = [run[1] for run in app.attached.run if run[0] == "attach"]
        assert (app.composer.text, paths, app.sent()) == ("see ", ["src/main.py"], [])


async def test_keys_may_be_faster_than_candidates() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.press(*"/he")
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (MODEL, HELP))
        await pilot.press("tab")
        assert app.composer.text == "/help"
        app.composer.text = "/x"
        await pilot.pause()
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (MODEL, HELP))
        await pilot.press("tab")
        assert (app.composer.text, app.composer.has_focus) == ("/x", True)
        app.composer.text = ""
        await pilot.press(*"hello")
        app.composer.suggestions.offer(CompletionQuery("command", "", 0), (HELP,))
        await pilot.press("enter")
        assert app.sent() == ["hello"]
        app.composer.clear_text()
        await pilot.press(*"/m")
        app.composer.offer_suggestions(CompletionQuery("command", "", 0), (MODEL, HELP))
        assert app.composer.suggestions.is_open
        app.composer.clear_text()
        await pilot.pause()
        app.composer.offer_suggestions(
            CompletionQuery("argument", "notes", 6, "view"), (Suggestion("notes", "notes"),)
        )
        app.composer.offer_suggestions(CompletionQuery("command", "m", 0), (MODEL,))
        assert not app.composer.suggestions.is_open, "candidates for what was sent meanwhile"


async def test_chips_are_removed_with_backspace_or_the_mouse() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:
        pane = app.query_one(ChatPane)
        line = pane.attachments
        pane.show_attachments(("photo.png · 34 kB", "notes.md · 2 kB"))
        await pilot.pause()
        assert line.display
        await pilot.press("a", "backspace")
        assert app.attached.run == []
        await pilot.press("backspace")
        assert ("remove_last",) in app.attached.run
        await pilot.click(line, offset=(2 + 19, 0))
        await pilot.click(line, offset=(2 + 5, 0))
        await pilot.pause()
        removed = [run[1] for run in app.attached.run if run[0] == "remove"]
        assert removed == [0]


MODELS = [
    *("loopback/mirror", "loopback/echo", "there/loquat", "there/long", "far/gpt-local", "far/halo")
]


async def test_tab_completes_the_common_prefix_then_the_marked_candidate() -> None:
    app = Stage()
    async with app.run_test(size=(60, 24)) as pilot:

        async def tab(typed: str, names: list[str], *keys: str) -> str:
            app.composer.text = typed
            await pilot.pause()
            asked = completion_query_at(0, typed)
            assert asked is not None
            app.composer.suggestions.offer(asked, [Suggestion(name, name) for name in names])
            await pilot.press(*keys, "tab")
            return app.composer.text

        assert await tab("/model loo", MODELS[:2]) == "/model loopback/"
        assert app.composer.suggestions.is_open, "what there is to choose from stays in sight"
        assert await tab("/model loopback/", MODELS[:2]) == "/model loopback/mirror"
        assert await tab("/model loo", MODELS[:2], "down") == "/model loopback/echo"
        assert await tab("/model lo", [*MODELS[2:], *MODELS[:2]]) == "/model there/loquat"
        assert await tab("/model l", ["l/la", "l/mo", "long/x"]) == "/model l/la"
        assert await tab("/ed", ["/edit-preset", "/edit"]) == "/edit"
        assert (
            await tab("/edit", [f"/{command.name}" for command in complete_command("edit")])
            == "/edit"
        )
        assert await tab("see @s", ["@src/", "@srv/"]) == "see @sr"
