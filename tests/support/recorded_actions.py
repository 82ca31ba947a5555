"""An area that only records which of its actions a key or a click runs, and on what."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.dom import DOMNode


class RecordedActions(DOMNode):
    """Stands where an app has an area: `run` holds each action's name, arguments and target."""

    def __init__(
        self,
        app: App[None],
        area: str,
        target: Callable[[str], tuple[str, ...]] = lambda action: (),
    ) -> None:
        """`target` returns the ids of what an action is about, by its name."""
        super().__init__()
        self.stage = app
        self.run: list[tuple[object, ...]] = []
        self._target = target
        setattr(app, area, self)
        app._action_targets |= {area}  # pyright: ignore[reportPrivateUsage]  as the app does

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("action_"):
            raise AttributeError(name)
        action = name.removeprefix("action_")
        return lambda *arguments: self.run.append((action, *arguments, *self._target(action)))
