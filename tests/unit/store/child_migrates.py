"""Migrates a database, and stops in the middle of it, after a number of rows."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tui_chat.store import blocks_migration, schema

convert_row = blocks_migration.convert_row
left = int(sys.argv[2])


def convert(*arguments: Any) -> bool:
    global left
    left -= 1
    if left == 0:
        print("half", flush=True)
        time.sleep(60)
    return convert_row(*arguments)


blocks_migration.convert_row = convert
schema.prepare(Path(sys.argv[1]), now=1.0, busy_timeout=5.0)
