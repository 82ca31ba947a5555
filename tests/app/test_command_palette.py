"""The command palette: what people type finds what they mean."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input, OptionList

from tests.support.app import make_app, opened, press, say, settle, until
from tests.support.tables import each_row
from tui_chat.ui.command_palette import CommandPalette, match_score
from tui_chat.ui.dialogs.base import HelpDialog

WORDS = {
    "regenerate": "Regenerate reply",
    "retry": "Regenerate reply",
    "swipe": "Regenerate reply",
    "switch model": "Switch model",
    "fork": "Fork session from here",
    "rename": "Rename session",
    "temperature": "Session settings",
    "settings": "Session settings",
    "effort": "Session settings",
    "title": "Rename session",
    "copy": "Copy the message or the selection",
    "export": "Export conversation…",
    "import": "Import conversations…",
    "continue": "Continue this reply",
    "stop": "Stop the reply, or close a pane",
    "clear": "New session",
    "persona": "Choose profile",
    "theme": "Theme",
    "dark": "Toggle light and dark theme",
    "cost": "Usage and cost",
    "usage": "Usage and cost",
    "notifications": "Notifications (with the time)",
    "tokens": "Budget",
    "help": "Help: keys and commands",
    "keys": "Help: keys and commands",
    "quit": "Quit (the draft is kept)",
    "regen": "Regenerate reply",
    "REName": "Rename session",
    "chat": "New session",
    "new chat": "New session",
    "conversation": "New session",
    "delete chat": "Delete this session",
    "delete conversation": "Delete this session",
    "remove chat": "Delete this session",
    "rename chat": "Rename session",
    "pin chat": "Pin or unpin this session",
    "archive chat": "Archive or restore this session",
    "hide chat": "Archive or restore this session",
    "hide": "Sessions",
    "hide inspector": "Inspector",
    "go to chat": "Go to session…",
    "use preset": "Choose preset",
    "snippet": "Insert snippet…",
    "layout": "Reset the layout of the panes",
    "find": "Find in this conversation",
    "override": "Edit request by hand",
    "patch": "Edit request by hand",
    "edit payload": "Edit request by hand",
    "edit body": "Edit request by hand",
    "breakpoint": "Edit request by hand",
    "edit request": "Edit request by hand",
    "remove all edits": "Remove all edits by hand",
    **dict.fromkeys(
        ("mute", "hide message", "exclude", "leave out", "omit", "skip", "unmute"),
        "Mute message (not sent), or unmute it",
    ),
    "mute picture": "Mute reasoning, a file, or several messages…",
    "hide reasoning": "Mute reasoning, a file, or several messages…",
    "hide tool results": "Mute tool results older than the last turn",
    "unmute all": "Unmute all messages",
    "sessions": "Sessions",
    **dict.fromkeys(("plugin", "plugins"), "Plugins: what each one adds"),
    **dict.fromkeys(
        ("mcp", "mcp server"), "Tools of this session: choose, definitions, permissions…"
    ),
    "next chat": "Next session",
    "system prompt": "Roles and system prompts",
    "config": "Open the configuration file in $EDITOR",
}


async def test_the_words_that_people_search_for_put_the_action_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        entries = list(app.action_index.palette_entries())
        first = {
            words: max(entries, key=lambda entry: match_score(entry, words)).title
            for words in WORDS
        }
        assert first == WORDS
        scattered = max(entries, key=lambda entry: match_score(entry, "rgnrt"))
        assert scattered.title.startswith("Regenerate")
        for misspelled, meant in (
            ("tempreture", "Session settings"),
            ("exprot", "Export conversation…"),
        ):
            best = max(entries, key=lambda entry, words=misspelled: match_score(entry, words))
            assert best.title == meant
        for words in ("mouse", "voice", "zen"):
            assert not any(match_score(entry, words) for entry in entries), "not letters of others"
        tools = sorted(entries, key=lambda entry: -match_score(entry, "tools"))
        assert "tool" in tools[0].title
        assert {entry.title for entry in entries if match_score(entry, "config") >= 60} == {
            *("Open the configuration file in $EDITOR", "Session settings", "Switch model")
        }
        assert not [entry.title for entry in entries if entry.title.startswith(("Page ", "Up"))]
        assert not any(entry.title.startswith("Delete character") for entry in entries), "of fields"
        palette = CommandPalette(entries, ())
        found = [choice.label for choice in palette.matching("import")]
        assert found[0] == "Import conversations…"
        assert not [title for title in found if title.startswith("Impersonate")], "scattered"
        assert palette.matching("rgnrt"), "scattered letters alone"


@each_row("size", [(160, 45), (80, 24)])
async def test_entries_have_one_line_with_the_key_at_the_right(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path).run_test(size=size) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+p", *"new se")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await settle(pilot)
        options = app.screen.query_one(OptionList)
        line = options.render_line(0).text
        assert line.strip().startswith("New session")
        assert line.rstrip().endswith("Ctrl+N")
        assert options.render_line(1).text.strip().startswith("New session"), "the sidebar's"
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, CommandPalette))


async def test_what_was_used_last_comes_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        before = app.theme
        await pilot.press("ctrl+p", *"dark", "enter")
        await until(pilot, lambda: app.theme != before)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await settle(pilot)
        assert "Toggle light" in app.screen.query_one(OptionList).render_line(0).text
        app.screen.query_one(Input).value = "no such thing"
        await settle(pilot)
        assert "No matches" in app.screen.query_one(OptionList).render_line(0).text


async def test_help_lists_first_what_one_does_with_a_message(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.chat.pane.transcript.focus()
        await settle(pilot)
        title, keys = app.action_index.help_sections()[0]
        assert title == "Conversation"
        assert keys[0][:2] == ("←", "Previous version")
        titles = [each.title for each in keys]
        assert titles.index("Regenerate this reply") < titles.index("Up")
        app.chat.pane.composer.focus()
        await settle(pilot)
        assert app.action_index.help_sections()[0][1][0][:2] == ("Enter", "Send")


async def test_help_is_searched_by_typing(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        app.chat.pane.transcript.focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))

        def shown() -> list[str]:
            return [str(each.render()) for each in app.screen.query(".title") if each.display]

        assert shown()[0] == "Conversation", "the focused pane comes first"
        await pilot.press(*"fork")
        await until(pilot, lambda: "Sessions" not in shown())
        assert shown() == ["Conversation", "Typed at the start of a message"]
        app.screen.query_one(Input).value = "bug report"
        await until(pilot, lambda: shown() == ["Only in the palette"])
        app.screen.query_one(Input).value = "shift+drag"
        await until(pilot, lambda: shown() == ["Mouse"])
        app.screen.query_one(Input).value = "persona"
        await until(pilot, lambda: shown() == ["Typed at the start of a message"])
        await pilot.press(*"zzz")
        await until(pilot, lambda: shown() == [])
        assert app.screen.query_one(".none").display
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        app.chat.pane.composer.focus()
        await pilot.press("question_mark")
        assert app.chat.pane.composer.text == "?"


async def test_a_key_that_leads_elsewhere_says_why_it_waits_for_a_dialog(tmp_path: Path):
    async with make_app(tmp_path, keys=(("palette", "F9"),)).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        log = app.notifications.log
        for command in ("/model", "/roles"):
            await pilot.press(*command, "enter")
            await until(pilot, lambda: len(app.screen_stack) == 2 and app.focused is not None)
            for key in ("f9", "f4"):
                log.clear()
                await pilot.press(key)
                await until(pilot, lambda: bool(log))
                assert [notice.message for notice in log] == ["Close this dialog first (Esc)."]
            log.clear()
            await press(pilot, "ctrl+p", "tab", "x")
            assert not log, "keys of the dialog, and keys of nothing"
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await press(pilot, "f3")
        await press(pilot, "enter")
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
