"""The user's database for a headless command, which may run beside an open app."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tui_chat import paths
from tui_chat.cli.ids import new_id
from tui_chat.cli.interpreter import collect_seldom

if TYPE_CHECKING:
    from tui_chat.store import Store


@asynccontextmanager
async def open_store(settings: Mapping[str, object]) -> AsyncGenerator[Store]:
    """Open the database that the flags name while the block runs. Raises StoreError."""
    from tui_chat.store import Store

    collect_seldom()
    path = paths.database_file(cast("Path | None", settings["data_dir"]))
    async with await Store.open(path, now=time.time, new_id=new_id) as store:
        yield store
