"""The palette: Textual's, with the verbs that are possible now, by title and by other words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.actions import parse
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Input
from textual.worker import WorkerError

from tui_chat.ui.keys import key_names
from tui_chat.ui.verbs import VERBS, Verb

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat


def may_run(app: TuiChat, verb: Verb) -> bool:
    """Return True if a verb is possible now."""
    area, name, parameters = parse(verb.run)
    return bool((getattr(app, area) if area else app).check_action(name, parameters))


class VerbPalette(CommandPalette):
    """The palette as wide as a verb and its key."""

    DEFAULT_CSS = """
    VerbPalette > Vertical { max-width: 90; }
    """

    def __init__(self) -> None:
        super().__init__([VerbProvider], placeholder="Type what you want to do")

    @on(Input.Submitted)
    async def _wait_for_matches(self) -> None:
        """Let Enter take what matches all that was typed, however fast that was."""
        workers = [worker for worker in self.workers if worker.group == self._GATHER_COMMANDS_GROUP]
        with suppress(WorkerError):
            await self.workers.wait_for_complete(workers)  # pyright: ignore[reportUnknownMemberType]  Textual types it Worker[Unknown]


class VerbProvider(Provider):
    """Offers the verbs; those of the pane with the focus first."""

    @property
    def _app(self) -> TuiChat:
        return cast("TuiChat", super().app)

    def _verbs(self) -> Iterator[Verb]:
        here = self._app.panes.place
        verbs = sorted(VERBS, key=lambda verb: not here or verb.place != here)
        return (verb for verb in verbs if verb.id != "palette" and may_run(self._app, verb))

    async def discover(self) -> Hits:
        """Yield all verbs."""
        for verb in self._verbs():
            yield DiscoveryHit(
                self._line(verb), partial(self._app.action_run_verb, verb.id), verb.title
            )

    async def search(self, query: str) -> Hits:
        """Yield the verbs that match."""
        for verb in self._verbs():
            if score := match_score(verb, query):
                run = partial(self._app.action_run_verb, verb.id)
                yield Hit(score, self._line(verb), run, verb.title)

    def _line(self, verb: Verb) -> Content:
        """Return the title of a verb, and its key or command at the right."""
        key = key_names(self._app.key_bindings.by_verb[verb.id]) or "".join(
            f"/{name}" for name in verb.names[:1]
        )
        width = max(min(self._app.size.width * 9 // 10, 90) - 8, 20)
        title = Content(verb.title).truncate(max(width - len(key) - 2, 1), ellipsis=True)
        return Content.assemble(title, " " * (width - title.cell_length - len(key)), (key, "dim"))


def match_score(verb: Verb, query: str) -> float:
    """Return how well a verb matches what is typed; 0 if it does not.

    A whole title goes before other whole names, these before beginnings, and beginnings before
    words; titles before other words, and verbs that work everywhere first.
    """
    query = " ".join(query.casefold().split())
    title, aliases = verb.title.casefold().removesuffix("…"), verb.aliases
    texts = " ".join((title, *aliases))
    steps = (
        (not query, 1),
        (query == title, 120),
        (query in aliases, 100),
        (title.startswith(query), 80),
        (f" {query}" in f" {title}", 70),
        (any(f" {query}" in f" {alias}" for alias in aliases), 60),
        (query in title, 50),
        (all(f" {word}" in f" {texts}" for word in query.split()), 45),
    )
    return next((score + (not verb.place) for holds, score in steps if holds), 0)
