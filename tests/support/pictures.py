"""Pictures of screens that a person looks at, each at the size at which it matters.

An app is started once and led from screen to screen; each picture is compared with its golden file
in `__snapshots__`, and those that differ are in the report of `snap_compare` at the end of the run.

    async def test_the_composer(album, tmp_path):
        async with album.of(make_app(tmp_path)) as pilot:
            await opened(pilot)
            await pilot.press(*"Hello")
            await album.take(pilot, "typed")                  # typed-160x45-dark.svg
            await album.take(pilot, "typed", NARROW, "light")  # typed-80x24-light.svg

1. Clocks, cursors and toasts stand still. The app is drawn when a picture is taken.
2. `take` waits until the screen is as its golden file has it, or at rest. It leaves the app at its
   size and in its theme.
3. Pictures that differ are told together when the app has been left, so that one run shows, and
   one run with `--snapshot-update` replaces, all of them. Look at what is replaced.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import pytest
from pytest_textual_snapshot import (
    PseudoApp,
    PseudoConsole,
    SVGImageExtension,
    node_to_report_path,
    normalize_svg,
)
from rich.console import Console
from syrupy.assertion import SnapshotAssertion
from syrupy.exceptions import SnapshotDoesNotExist
from textual.app import App
from textual.pilot import Pilot

WIDE, MEDIUM, NARROW = (160, 45), (120, 35), (80, 24)
SIZES = (WIDE, MEDIUM, NARROW)
PATIENCE = 20
"""Seconds until a screen at rest that is not its golden file's is taken as it is, one second where
it replaces the file; one that does not come to rest gets twice as many."""


class _Files(SVGImageExtension):
    """Names the files like the tests and their pictures."""

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        return f"{test_location.snapshot_name}-{index}"


class Album:
    """The pictures of one test."""

    def __init__(self, snapshot: SnapshotAssertion, node: pytest.Function) -> None:
        self._snapshot = snapshot.use_extension(_Files)
        self._node = node
        self._differing: list[str] = []

    @asynccontextmanager
    async def of(self, app: App[Any], size: tuple[int, int] = WIDE) -> AsyncIterator[Pilot[Any]]:
        """Run the app; when it is left, fail if any picture differed."""
        async with app.run_test(size=size, notifications=True) as pilot:
            yield pilot
        assert not self._differing, f"these pictures differ: {', '.join(self._differing)}"

    async def take(
        self, pilot: Pilot[Any], state: str, size: tuple[int, int] = WIDE, theme: str = "dark"
    ) -> None:
        """Compare the screen, at a size and in a theme, with its golden file."""
        app = pilot.app
        before = app.size, app.theme
        await self._show(pilot, size, f"tui-chat-{theme}")
        name = f"{state}-{size[0]}x{size[1]}-{theme}".replace(" ", "-")
        self._compare(name, await self._drawn(pilot, name))
        await self._show(pilot, *before)

    async def _show(self, pilot: Pilot[Any], size: tuple[int, int], theme: str) -> None:
        if pilot.app.theme != theme:
            pilot.app.theme = theme
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)

    async def _drawn(self, pilot: Pilot[Any], name: str) -> str:
        """Return the picture of the screen when it is the golden file's, else when it is at rest.

        A screen that differs gets `PATIENCE` seconds: work of another thread may still change it.
        """
        snapshot = self._snapshot
        try:
            golden = snapshot.extension.read_snapshot(
                test_location=snapshot.test_location, index=name, session_id=""
            )
        except SnapshotDoesNotExist:
            golden = None
        patience = 1 if snapshot.session.update_snapshots else PATIENCE
        drawn, begun = "", monotonic()
        while monotonic() < begun + 2 * PATIENCE:
            for _ in range(4):
                await pilot.pause(0)
            before, drawn = drawn, normalize_svg(pilot.app.export_screenshot(simplify=True))
            if drawn == golden or (
                drawn == before and (golden is None or monotonic() > begun + patience)
            ):
                return drawn
            if drawn == before:
                await asyncio.sleep(0.02)
        raise AssertionError("the screen does not come to rest")

    def _compare(self, name: str, drawn: str) -> None:
        snapshot, node = self._snapshot, self._node
        alike = snapshot(name=name) == drawn
        if not alike:
            self._differing.append(name)
        execution = snapshot.executions[snapshot.num_executions - 1]
        console = Console(legacy_windows=False, force_terminal=True)
        path, line, title = node.reportinfo()
        report = node_to_report_path(node)
        words = f"{title} {name}"
        shown = (
            alike,
            str(execution.recalled_data or ""),
            drawn,
            PseudoApp(PseudoConsole(console.legacy_windows, console.size)),
            path,
            line,
            words,
            inspect.getdoc(node.function) or "",
            "",
            execution.recalled_data is not None,
        )
        report.with_name(f"{report.name}_{name}").write_bytes(pickle.dumps(shown))
