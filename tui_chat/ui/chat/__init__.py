"""The chat pane: a conversation and the composer of its next message.

ChatPane stacks the title, the Transcript, the find bar, the activity line and the Composer. Text
reaches the screen in this order:

sections          cuts a message into sections that can be laid out one by one
markdown          lays out a section as lines (text_lines) of named styles
message_layout    puts the parts of one message together
branch_layout     keeps the layouts of the messages in sight, and estimates the others' heights
viewport          knows which lines are on the screen
line_painter      paints them in the theme's colours (styles)
transcript_view   draws, scrolls and follows a streaming reply
transcript        handles keys and clicks, and posts requests (messages) for the app
"""

from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.completion import CompletionQuery, Suggestion
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.status_lines import AttachmentLine
from tui_chat.ui.chat.transcript import Transcript

__all__ = ["AttachmentLine", "ChatPane", "CompletionQuery", "Composer", "Suggestion", "Transcript"]
