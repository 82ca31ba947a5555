"""Finding what was said."""

from __future__ import annotations

from tui_chat.models.search import Hit, Query
from tui_chat.store import few, index, search
from tui_chat.store.api.base import Base


class Search(Base):
    """The store's methods for searching."""

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Find messages on all branches, and sessions by title or role. Never finds what was
        deleted. `InputError` where there is no word in the query; no other text is wrong.

        The first search of a database from before the index takes longer: it is made then.
        """
        while not await self._database.read(index.is_complete):
            await self._database.write(index.catch_up)
        return await self._database.read(lambda tx: search.find(tx, query))

    async def writers(self) -> tuple[tuple[str, str], ...]:
        """Return the endpoints and models that ever replied, either of them possibly empty."""
        return await self._database.read(few.writers)
