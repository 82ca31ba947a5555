"""What tests do to a store that the program never does."""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.store import Store
from tui_chat.store.database import Transaction
from tui_chat.store.sessions import add_variables, remove_session


async def remove_forever(store: Store, session_id: str) -> None:
    """Remove one session for good, whatever is in the trash."""
    await store.database.write(lambda tx: remove_session(tx, session_id))


async def replace_variables(store: Store, session_id: str, variables: Mapping[str, str]) -> None:
    """Make these the macro variables of a session, as an import does for a new one."""

    async def work(tx: Transaction) -> None:
        await tx.run("DELETE FROM variables WHERE session_id = ?", session_id)
        await add_variables(tx, session_id, variables)

    await store.database.write(work)
