"""A plugin's view in which an exception shows its sentence in place of the rows.

The methods of its class are guarded where they are. One that raises does what that of `RowsView`
would have done, so that the app around the view goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from textual.actions import SkipAction
from textual.css.stylesheet import Stylesheet

from tui_chat.errors import TuiChatError
from tui_chat.hooks import failed, report
from tui_chat.ui.inspector.rows_view import RowsView

_GUARDED: set[type] = set()
"""The classes whose methods are guarded."""


def guarded_view(plugin: str, part: str, view: Any, variables: dict[str, str]) -> type[RowsView]:
    """Return a view's class with guarded methods. Raises PluginFailed for anything else; also for
    faulty CSS, for which `variables` has the colors.
    """
    if not isinstance(view, type) or not issubclass(view, RowsView):
        raise failed(plugin, part, TypeError("it is no RowsView"))
    for cls in view.__mro__[: view.__mro__.index(RowsView)]:
        if cls in _GUARDED:
            continue
        css = Stylesheet(variables=variables)
        css.add_source(vars(cls).get("DEFAULT_CSS", ""))
        try:
            css.parse()
        except Exception as error:
            raise failed(plugin, part, error) from error
        _GUARDED.add(cls)
        for name, member in [*vars(cls).items()]:
            if name.startswith("__") or name == "build":
                continue
            if inspect.isfunction(member) and not inspect.isgeneratorfunction(member):
                setattr(cls, name, _guarded_method(name, member))
            elif isinstance(member, property) and member.fget is not None:
                getter = _guarded_method(name, member.fget)
                setattr(cls, name, property(getter, member.fset, member.fdel))
    view.plugin, view.part = plugin, part
    return view


def _guarded_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    base = getattr(RowsView, name, None)
    instead: Any = base.fget if isinstance(base, property) else base

    def show(view: RowsView, error: BaseException) -> None:
        if isinstance(error, SkipAction) or not isinstance(error, Exception | SystemExit):
            raise error
        if not isinstance(error, TuiChatError):  # other people's code may raise anything
            error = failed(view.plugin, view.part, error)
            report(error.fault)
        view.show_fault(str(error))

    @wraps(method)
    def call(self: RowsView, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            show(self, error)
        return None if instead is None else instead(self, *args, **kwargs)

    @wraps(method)
    async def wait(self: RowsView, *args: Any, **kwargs: Any) -> Any:
        try:
            return await method(self, *args, **kwargs)
        except BaseException as error:
            show(self, error)
        result = None if instead is None else instead(self, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return wait if inspect.iscoroutinefunction(method) else call
