"""Conversations of other programs: readers of their files, import, and the viewer.

import_command, import_action
                     the command `import` and the action of the app
importer             stores what is found, and files of the library (report: the result)
files                what is in files, folders and archives
reader               the conversations of a file of any format, our own ones first (json_text:
                     JSON, value by value)
view                 the command `view` and the action of the app
viewed_files         the files whose sessions are viewed, and the sessions of subagents

chatgpt, claude, open_webui, librechat, takeout
                     exports of web programs
claude_code, codex, gemini_cli, opencode, llm, pi
                     what programs in a terminal keep
steps                messages of answers with tool calls and their results, and content of many
                     shapes
foreign_database     SQLite databases of other programs, opened for reading only

docs/formats.md says what is imported from each format.
"""

from tui_chat.api import Action, Command, Format, Plugin

_HERE = "tui_chat.plugins.transcripts"

PLUGIN = Plugin(
    name="transcripts",
    summary="Imports and shows the conversations of other programs.",
    commands=(
        Command(
            "import",
            f"{_HERE}.import_command:import_command",
            "Import conversations and character cards from files.",
            group="Data",
        ),
        Command(
            "view",
            f"{_HERE}.view:view",
            "Read conversations of other programs in the app, without importing them.",
            group="Chat",
        ),
    ),
    actions=(
        Action(
            "import",
            f"{_HERE}.import_action:import_from_app",
            "Import",
            "Import conversations…",
            aliases=("import", "open", "load", "chatgpt", "claude"),
            argument="PATH",
            writes=True,
        ),
        Action(
            "view",
            f"{_HERE}.view:view_from_app",
            "View",
            "View a file of conversations, read-only…",
            aliases=("browse", "open file", "read-only"),
            argument="PATH",
        ),
    ),
    formats=(
        Format("ChatGPT's conversations.json", f"{_HERE}.chatgpt:FORMATS", "ChatGPT"),
        Format("Claude's conversations.json", f"{_HERE}.claude:FORMATS", "Claude"),
        Format("Claude Code's sessions", f"{_HERE}.claude_code:FORMATS", "Claude Code"),
        Format("Codex's rollouts", f"{_HERE}.codex:FORMATS", "Codex"),
        Format("Gemini CLI's sessions", f"{_HERE}.gemini_cli:FORMATS", "Gemini CLI"),
        Format("Open WebUI's exports", f"{_HERE}.open_webui:FORMATS", "Open WebUI"),
        Format("LibreChat's exports", f"{_HERE}.librechat:FORMATS", "LibreChat"),
        Format("the database of llm", f"{_HERE}.llm:FORMATS", "llm"),
        Format("opencode's database", f"{_HERE}.opencode:FORMATS", "opencode"),
        Format("pi's sessions", f"{_HERE}.pi:FORMATS", "pi"),
        Format("Google Takeout's activity", f"{_HERE}.takeout:FORMATS", "Gemini"),
    ),
)
