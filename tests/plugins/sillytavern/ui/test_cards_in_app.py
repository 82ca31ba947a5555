"""Character cards in the app."""

from __future__ import annotations
