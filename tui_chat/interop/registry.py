"""All formats that are read, in the order in which they are tried. A new one adds its line here."""

from __future__ import annotations

from tui_chat.interop import (
    aichat,
    chatgpt,
    claude,
    claude_code,
    codex,
    gemini_cli,
    gptme,
    har,
    librechat,
    llm,
    messages,
    open_webui,
    opencode,
    own_json,
    sillytavern,
)
from tui_chat.interop.formats import Format

FORMATS: tuple[Format, ...] = (
    *own_json.FORMATS,
    chatgpt.FORMAT,
    claude.FORMAT,
    sillytavern.FORMAT,
    *claude_code.FORMATS,
    codex.FORMAT,
    *gemini_cli.FORMATS,
    open_webui.FORMAT,
    librechat.FORMAT,
    llm.FORMAT,
    gptme.FORMAT,
    *opencode.FORMATS,
    aichat.FORMAT,
    har.FORMAT,
    messages.FORMAT,
)

KNOWN = f"Known formats: {', '.join(dict.fromkeys(each.label for each in FORMATS))}."
"""The advice for a file of none of them."""
