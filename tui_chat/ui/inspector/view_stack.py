"""The views of a request, one above the other: only one is visible, and only that one is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tui_chat import api
from tui_chat.hooks import guard
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.guarded_view import guarded_view
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.rows_view import RowsView
from tui_chat.ui.inspector.views import PAYLOAD, load, plugin_of, views
from tui_chat.ui.widgets.typed_app import app_of

View: TypeAlias = "PayloadView | RowsView"

_EMPTY = "Nothing to send yet. Write a message: the request appears here while you type."


class ViewStack(Vertical):
    """Contains the views; each but the body is created when it is first shown."""

    DEFAULT_CSS = """
    ViewStack {
        height: 1fr;
        & > .-away { display: none; }
        #inspector-empty { display: none; height: 1fr; padding: 1 2; }
        &.-empty #inspector-empty { display: block; }
        &.-empty PayloadView, &.-empty RowsView { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.payload = PayloadView()
        self.current: View = self.payload
        """The visible view."""
        self._others: dict[str, RowsView] = {}
        """The views but the body that were shown, by name."""
        self._empty = Static(_EMPTY, id="inspector-empty")

    def compose(self) -> ComposeResult:
        yield self.payload
        yield self._empty

    def __iter__(self) -> Iterator[View]:
        yield self.payload
        yield from self._others.values()

    def select(self, name: str) -> None:
        """Make a view visible. Raises InputError if it is of a plugin that fails."""
        if name != PAYLOAD and name not in self._others:
            self._others[name] = self._new(views()[name])
            self.mount(self._others[name])
        self.current = self._others.get(name, self.payload)
        for view in self:
            view.set_class(view is not self.current, "-away")

    def _new(self, declared: api.View) -> RowsView:
        view, plugin = load(declared, declared.path), plugin_of(declared)
        if plugin is None:
            return view()
        part = f"view {declared.name}"
        view = guarded_view(plugin.name, part, view, app_of(self).get_css_variables())
        with guard(plugin.name, part):
            return view()

    def drop(self, view: RowsView) -> str:
        """Remove a view; return its name."""
        name = next(name for name, each in self._others.items() if each is view)
        del self._others[name]
        view.remove()
        return name

    def show_why_empty(self, why: str) -> None:
        """Set the markup that is shown in place of a request."""
        self._empty.update(why)

    def forget(self) -> None:
        """Drop what hidden views show, because another conversation follows."""
        self.payload.forget()
        for view in self._others.values():
            if not view.is_on_screen:
                view.forget()

    def point(self, origin: Origin | None) -> None:
        """Show the origin under the cursor of another pane; a view without places leaves it to the
        body.
        """
        (self.current if self.current.has_places else self.payload).point(origin)

    @property
    def searched(self) -> View:
        """The view in which words are found: the visible one, if it can."""
        return self.current if self.current.finds else self.payload

    def end_find(self) -> None:
        """Highlight found words no longer."""
        for view in self:
            if view.finds:
                view.find("")
