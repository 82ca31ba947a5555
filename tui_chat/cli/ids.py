"""Ids that are unique for all programs and sort by when they were made."""

from __future__ import annotations

import secrets
import time


def new_id() -> str:
    """Return 32 hex digits: 48 bits of milliseconds, then 80 random bits (as UUID 7 does)."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{milliseconds & (1 << 48) - 1:012x}{secrets.randbits(80):020x}"
