"""What is kept: one SQLite file, one connection, one writer. The only package that imports
aiosqlite, and it does so when a store is opened, so importing it costs little.

store         Store: opening, closing and the subjects below
sessions      session_list  branches  messages  replies  requests  transcripts  search  roles
              revisions  settings
              one class per subject; beside it functions over a transaction that subjects share
stream_journal  a streaming reply on its way to the disk
unsaved       what is in memory only while the file cannot be written to
index       what is searched; words says what a word is, snippets finds words in a text again,
            asides reads reasoning and tool calls
rows        rows to values and back; json_values does it for JSON columns
database    one connection, one writer, and what makes it safe to cancel
schema      versions: creating, migrating, undoing; `migrations/` holds the SQL
access      opening the file to read it beside others, or to have it alone
copies      backups and other copies of the file
upkeep      status, versions, restoring, compacting; check looks whether all is sound
salvage     a damaged file into a new one: pages reads it, shapes says whose a row is, mend puts
            right what no longer fits together, rescue puts the new file in the old one's place
owner       which running program receives a reply, and whether it still runs
faults      SQLite's errors in words
"""

from tui_chat.store.replies import Ending
from tui_chat.store.store import Store

__all__ = ["Ending", "Store"]
