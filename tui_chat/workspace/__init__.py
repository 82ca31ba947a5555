"""What lies on the desk: the open session, the draft, the request they make.

The state of the program without its screen. It decides, and tells its listener; the screen
shows. Everything a person can do to a conversation is a method of `Desk`.

1. `session` is None until a first message is sent: a chat that was never begun leaves nothing
   behind. Its role and model can be chosen all the same.
2. `composed` is pure composition over the current state, and returns the same object for the
   same state: the one the inspector draws is the one `submit` sends.
3. Replies stream in tasks of their own, one a session at most; another session can be opened
   meanwhile.
4. What goes wrong is told as `Trouble`, never raised at the screen.

desk       every method, handed to the part that does it
setting    those of them that say what is asked, and how
parts      the parts of one desk, and what can be read at once
state      the values everybody reads
changes    what is told to the listener
outside    store, network, files and clocks, as the parts reach them
composing  the state's request
opening    which session is shown
choosing   how it is set
roles      who may start a session
presets    those that are being edited, and their files
drafts     what is being typed
replies    what is on its way
unsaved    what is in memory until the database can be written to
elsewhere  what other programs do to the same conversations
calls      tool calls that wait for an answer
tools      those answers, by hand or by a command
branches   siblings, edits, forks, deletions, pins
organising the list of sessions
carrying   conversations from files, and into files
supposing  what if something were another
capturing  sessions of requests that were pasted
past       the request that produced a reply, kept or composed again
undo       bringing back what was deleted
"""

from tui_chat.workspace.changes import (
    BranchChanged,
    Change,
    Done,
    NewestRead,
    PresetChanged,
    ReplyElsewhere,
    ReplyGrew,
    ReplyWaits,
    SavingFailed,
    SessionsChanged,
    Trouble,
)
from tui_chat.workspace.desk import Desk
from tui_chat.workspace.organising import Order
from tui_chat.workspace.past import SentRequest
from tui_chat.workspace.state import LastSent
from tui_chat.workspace.supposing import WhatIf
from tui_chat.workspace.tools import OpenCall

__all__ = [
    "BranchChanged",
    "Change",
    "Desk",
    "Done",
    "LastSent",
    "NewestRead",
    "OpenCall",
    "Order",
    "PresetChanged",
    "ReplyElsewhere",
    "ReplyGrew",
    "ReplyWaits",
    "SavingFailed",
    "SentRequest",
    "SessionsChanged",
    "Trouble",
    "WhatIf",
]
