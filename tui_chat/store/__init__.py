"""What is kept: one SQLite file, one connection, one writer. The only package that imports
aiosqlite, and it does so when a store is opened, so importing it costs little.

store       Store: opening and closing; `api` has its methods, one per thing that is wanted
sessions    messages  branches  transcripts  search  requests  roles  library  memory
            the SQL by subject, as functions over a transaction
index       what is searched; words says what a word is, snippets finds words in a text again,
            asides reads reasoning and tool calls
growing     a streaming reply on its way to the disk
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

from tui_chat.store.api.exchanges import Ending
from tui_chat.store.store import Store

__all__ = ["Ending", "Store"]
