"""The area of the conversation and the composer of its next message.

area              ChatArea: shows the session, and has replies generated
conversation_area what is done with a message: edit, fork, delete, copy, export
composer_area     what the composer asks for: sending, commands, suggestions, snippets
attachment_area   the files of the draft
tool_call_area    the answers to tool calls
drafts            which session the composer's text belongs to, and its way into the store
command_suggestions  suggestions for `/` commands and `@`
chat_pane         ChatPane: title, transcript, find bar, activity line and composer

Text reaches the screen in this order:

sections          cuts a message into sections that can be laid out one by one
markdown          lays out a section as lines (text_lines) of named styles
message_layout    puts the parts of one message together
branch_layout     keeps the layouts of the messages in sight, and estimates the others' heights
viewport          knows which lines are on the screen
line_painter      paints them in the theme's colours (styles)
transcript_canvas draws, scrolls and follows a streaming reply
transcript        handles keys and clicks, and posts requests (messages) for the area

A widget's module is imported when its class is: the command line lays out Markdown without Textual.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_chat.ui.areas.chat.chat_pane import ChatPane
    from tui_chat.ui.areas.chat.completion import CompletionQuery, Suggestion
    from tui_chat.ui.areas.chat.composer import Composer
    from tui_chat.ui.areas.chat.status_lines import AttachmentLine
    from tui_chat.ui.areas.chat.transcript import Transcript

__all__ = ["AttachmentLine", "ChatPane", "CompletionQuery", "Composer", "Suggestion", "Transcript"]

_MODULES = {
    "AttachmentLine": "status_lines",
    "ChatPane": "chat_pane",
    "CompletionQuery": "completion",
    "Composer": "composer",
    "Suggestion": "completion",
    "Transcript": "transcript",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
