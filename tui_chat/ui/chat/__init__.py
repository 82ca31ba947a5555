"""The chat pane.

pane        ChatPane: title, transcript, activity and composer, one over the other
transcript  Transcript: the conversation, drawn line by line; keys, clicks, messages
viewport    which lines of which messages are on the screen
layouts     the messages of a branch, laid out as they are looked at
message     one message, laid out part by part; how a growing one stays cheap
sections    cutting a text into pieces that can be laid out alone
markdown    a section as lines; code and tables beside it
lines       Run, Line, wrapping: laid-out text that knows names of styles and no colours
label       what stands above and below a message
look        the transcript's style sheet; painter draws lines in its colours
picked      what the mouse has selected
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
