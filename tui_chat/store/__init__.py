"""The store: one SQLite file, one connection, one writer. The only package that imports aiosqlite,
and it does so when a store is opened, so importing it costs little.

store           Store: opening and closing, and one object per subject:
sessions        branches  messages  replies  requests  transcripts  roles  drafts  search
                each the class of its subject, and the functions on a transaction that others use
stream_journal  a streaming reply on its way to the disk
index           the rows of full text (words: how it holds scripts without spaces)
rows            rows to values and back
database        one connection, one writer, safe cancellation
schema          versions: creating and migrating; `migrations/` holds the SQL
process_lock    which running program receives a reply, and whether it still runs
errors          SQLite's errors as errors of ours
last_session    the session that was open last, before the store is opened
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.store.replies import Ending
    from tui_chat.store.store import Store

__all__ = ["Ending", "Store"]


def __getattr__(name: str) -> object:
    """Import the store when it is first used: the first frame reads `last_session` alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tui_chat.store import replies, store

    return store.Store if name == "Store" else replies.Ending
