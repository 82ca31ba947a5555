"""Conversations of other programs: readers of their files, and the viewer of folders.

chatgpt, claude, open_webui, librechat
                     exports of web programs
claude_code, codex, gemini_cli, opencode, gptme, aichat, llm
                     what programs in a terminal keep
steps                messages of answers with tool calls and their results
foreign_database     SQLite databases of other programs, opened for reading only

docs/formats.md says what is imported from each format.
"""

from tui_chat.extensions import FormatPath, Plugin

_READERS = "tui_chat.plugins.transcripts"

PLUGIN = Plugin(
    name="transcripts",
    summary="Reads the conversations of other programs.",
    formats=(
        FormatPath("ChatGPT's conversations.json", f"{_READERS}.chatgpt:FORMATS", "ChatGPT"),
        FormatPath("Claude's conversations.json", f"{_READERS}.claude:FORMATS", "Claude"),
        FormatPath("Claude Code's sessions", f"{_READERS}.claude_code:FORMATS", "Claude Code"),
        FormatPath("Codex's rollouts", f"{_READERS}.codex:FORMATS", "Codex"),
        FormatPath("Gemini CLI's sessions", f"{_READERS}.gemini_cli:FORMATS", "Gemini CLI"),
        FormatPath("Open WebUI's exports", f"{_READERS}.open_webui:FORMATS", "Open WebUI"),
        FormatPath("LibreChat's exports", f"{_READERS}.librechat:FORMATS", "LibreChat"),
        FormatPath("the database of llm", f"{_READERS}.llm:FORMATS", "llm"),
        FormatPath("gptme's logs", f"{_READERS}.gptme:FORMATS", "gptme"),
        FormatPath("opencode's database and exports", f"{_READERS}.opencode:FORMATS", "opencode"),
        FormatPath("aichat's sessions", f"{_READERS}.aichat:FORMATS", "aichat"),
    ),
)
