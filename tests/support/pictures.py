"""Pictures of the screen: of each state one, and of a few states a matrix of sizes and themes.

An app is started once and led from state to state; each picture is compared with its golden file
as `snap_compare` compares, with the same report at the end of the run. That is a tenth of a second
a picture; an app for each picture is more than one. A state's words and layout are seen in one
picture. What differs by size and theme (which panes fit, what wraps, which colors) is held by the
matrix of the states that have most of it: three sizes, a dark and a light theme.

    async def test_the_composer(album, tmp_path):
        async with album.of(make_app(tmp_path)) as pilot:
            await opened(pilot)
            await pilot.press(*"Hello")
            await album.take(pilot, "typed")             # typed-160x45-dark.svg
            await pilot.press("ctrl+j")
            await album.take_matrix(pilot, "two lines")  # two lines-160x45-dark.svg and five others

1. `of` runs the app at 160x45, with clocks, cursors and toasts that stand still. It is drawn when
   a picture is taken, and not for the terminal that is not there.
2. `take` waits until the screen is as its golden file has it, or at rest. It leaves the app at
   160x45. `take_matrix` may leave it in the light theme: `take` changes it back.
3. Pictures that differ are told together when the app has been left, so that one run shows, and
   one run with `--snapshot-update` replaces, all of them. Look at what is replaced.
4. A state is reached with `opened`, `until` and keys, never with time.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator, Sequence
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
THEMES = ("tui-chat-dark", "tui-chat-light")
PATIENCE = 20
"""Seconds until a screen at rest that is not its golden file's is taken as it is, one second where
it replaces the file; one that does not come to rest gets twice as many."""


class Album:
    """The pictures of one test."""

    def __init__(self, snapshot: SnapshotAssertion, node: pytest.Function) -> None:
        self._snapshot = snapshot.use_extension(SVGImageExtension)
        self._node = node
        self._differing: list[str] = []

    @asynccontextmanager
    async def of(self, app: App[Any], size: tuple[int, int] = WIDE) -> AsyncIterator[Pilot[Any]]:
        """Run the app; when it is left, fail if any picture differed."""
        async with app.run_test(size=size, notifications=True) as pilot:
            yield pilot
        assert not self._differing, f"these pictures differ: {', '.join(self._differing)}"

    async def take(
        self,
        pilot: Pilot[Any],
        state: str,
        *,
        sizes: Sequence[tuple[int, int]] = (WIDE,),
        themes: Sequence[str] = THEMES[:1],
    ) -> None:
        """Compare the screen, at each size and in each theme, with its golden files."""
        app = pilot.app
        if app.theme == themes[-1]:
            themes = themes[::-1]
        for theme in themes:
            app.theme = theme
            for size in sizes:
                if app.size != size:
                    await pilot.resize_terminal(*size)
                look = theme.removeprefix("tui-chat-")
                name = f"{state}-{size[0]}x{size[1]}-{look}"
                self._compare(name, await self._drawn(pilot, name))
            sizes = sizes[::-1]
        if app.size != WIDE:
            await pilot.resize_terminal(*WIDE)

    async def take_matrix(self, pilot: Pilot[Any], state: str) -> None:
        """Compare the screen at all sizes and in both themes with its golden files."""
        await self.take(pilot, state, sizes=SIZES, themes=THEMES)

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
