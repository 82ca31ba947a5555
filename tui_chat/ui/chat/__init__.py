"""The chat pane.

pane        ChatPane: title, transcript, find bar, activity and composer, one over the other
transcript  Transcript: what keys and clicks do in the conversation
moving      Moving: going through it, and from hit to hit
posted      what a person asks for there, posted for the app to do
copying     Copying: copying messages and code, opening links
selecting   Selecting: selecting with the mouse; picked is what is selected
reader      Reader: branches that come, replies that grow, messages that unfold
canvas      Canvas: the conversation on the screen, drawn line by line
viewport    which lines of which messages are on the screen; heights are their sums
sight       what is on the screen, held against what was: only rows that differ are drawn
layouts     the messages of a branch, laid out as they are looked at
message     one message, laid out part by part; parts are what it is made of
folding     lines that fold and unfold, and messages that are short until unfolded
sections    cutting a text into pieces that can be laid out alone
markdown    a section as lines; code, tables and maths beside it
lines       Run, Line, wrapping: laid-out text that knows names of styles and no colours
label       what stands above a message, foot what stands below; calls are its tool calls
progress    how an arriving reply gets on
search      the hits of a search; finding is where words stand, find_bar asks for them
look        the transcript's style sheet; painter draws lines in its colours
composer    Composer: the draft's editor; pastes keeps large pastes beside the text
asking      what stands at the cursor that can be completed; suggestions shows how to go on
past        earlier texts, for the arrow keys
attached    AttachedLine: the files that go with the draft
strips      the title line and the activity line
"""

from tui_chat.ui.chat.asking import Asked, Candidate
from tui_chat.ui.chat.attached import AttachedLine
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.pane import ChatPane
from tui_chat.ui.chat.transcript import Transcript

__all__ = ["Asked", "AttachedLine", "Candidate", "ChatPane", "Composer", "Transcript"]
