"""Draws the README's picture, docs/screen.svg, from the real app over the offline provider.

uv run python docs/picture.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.ui.app_under_test import make_app, opened, say  # noqa: E402


async def main() -> None:
    """Hold a short conversation, and draw the screen."""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(Path(folder), model="lorem:max:160")
        async with app.run_test(size=(150, 40)) as pilot:
            await opened(pilot)
            await say(pilot, "Tell me about the river, and what to pack.")
            await pilot.press(*"And where does the model see this?")
            await pilot.pause()
            app.save_screenshot("screen.svg", path=str(ROOT / "docs"))
            await app.action_quit()


asyncio.run(main())
