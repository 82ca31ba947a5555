"""Guarded calls into plugins: an exception there becomes a fault, a sentence that names the plugin.

1. What `guard` and `guarded` call may raise the errors of this program, which are part of the
   interface: they pass. Any other exception becomes a `PluginFailed`.
2. Each fault is kept once, in `faults`, and its traceback goes to `keep_traces`.
3. Where a caller can go on without the plugin it catches the error and calls `report`, which
   tells whoever watches (`watch_reports`). Otherwise the error is shown like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any

from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass

MOST_FAULTS = 50
"""Faults that are kept."""
_PREDICATES = frozenset(("detect", "holds", "is_entry"))
"""Functions of a plugin that say whether it reads a file: one that fails reads none."""


@dataclass(frozen=True, slots=True)
class PluginFault:
    """What failed of a plugin."""

    plugin: str
    error: str
    part: str = ""
    """The part that failed when it was used, such as `view words`; empty if the plugin, or a part
    of it, could not be imported."""
    trace: str = ""
    """The traceback, without the values of variables."""

    def __str__(self) -> str:
        if self.part:
            return f"The {self.part} of plugin {self.plugin} failed: {self.error}"
        return f"The plugin “{self.plugin}” cannot be loaded: {self.error}"


class PluginFailed(InputError):
    """A part of a plugin raised an exception of its own."""

    def __init__(self, fault: PluginFault) -> None:
        super().__init__(str(fault), advice="`tui-chat plugins` lists all plugins.")
        self.fault = fault


class _Kept:
    """The faults of this process, and who is told of them."""

    faults: tuple[PluginFault, ...] = ()
    keep: Callable[[str], None] | None = None
    watch: Callable[[PluginFault], None] | None = None
    reported: frozenset[PluginFault] = frozenset()


def faults() -> tuple[PluginFault, ...]:
    """Return the distinct faults of all plugins so far."""
    return _Kept.faults


def add_fault(fault: PluginFault) -> None:
    """Keep a fault once, and give the tracebacks of all to `keep_traces`."""
    known = {(each.plugin, each.part, each.error) for each in _Kept.faults}
    if (fault.plugin, fault.part, fault.error) in known or len(known) >= MOST_FAULTS:
        return
    _Kept.faults += (fault,)
    if _Kept.keep is not None and fault.trace:
        _Kept.keep("\n".join(f"{each}\n{each.trace}" for each in _Kept.faults if each.trace))


def forget_faults() -> None:
    """Forget all faults: other plugins are enabled."""
    _Kept.faults, _Kept.reported = (), frozenset()


def keep_traces(keep: Callable[[str], None]) -> None:
    """Give the tracebacks of all faults to a function after each new one."""
    _Kept.keep = keep


def watch_reports(watch: Callable[[PluginFault], None] | None) -> None:
    """Call a function for each fault that is reported; None for nobody."""
    _Kept.watch = watch


def report(fault: PluginFault) -> None:
    """Tell of a fault after which the caller goes on; once for each."""
    if _Kept.watch is not None and fault not in _Kept.reported:
        _Kept.reported |= {fault}
        _Kept.watch(fault)


def error_sentence(error: BaseException) -> str:
    """Return an exception as a sentence: its own if it is one of ours, else with its type."""
    return str(error) if isinstance(error, TuiChatError) else f"{type(error).__name__}: {error}"


def failed(plugin: str, part: str, error: BaseException) -> PluginFailed:
    """Return the error for an exception of a plugin's part, and keep the fault."""
    from traceback import format_exception  # takes 5 ms

    fault = PluginFault(plugin, error_sentence(error), part, "".join(format_exception(error)))
    add_fault(fault)
    return PluginFailed(fault)


def is_of_interface(error: BaseException) -> bool:
    """Return True for an exception that this program declares: a plugin may raise it."""
    return type(error).__module__.partition(".")[0] == "tui_chat"


@contextmanager
def guard(plugin: str, part: str) -> Generator[None]:
    """Make a PluginFailed of what a block raises."""
    try:
        yield
    except (Exception, SystemExit) as error:  # other people's code may raise anything
        if is_of_interface(error):
            raise
        raise failed(plugin, part, error) from error


def guarded(plugin: str, part: str, value: Any) -> Any:
    """Return a plugin's part of which each function is guarded: a function itself, those of a
    dataclass, or of several. A class is returned as it is.
    """
    if inspect.isroutine(value):
        return _guarded_function(plugin, part, value)
    if isinstance(value, tuple):
        return tuple(guarded(plugin, part, each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: _guarded_function(
                plugin, part, function, is_predicate=field.name in _PREDICATES
            )
            for field in fields(value)
            if inspect.isroutine(function := getattr(value, field.name))
        }
        return replace(value, **changed)
    return value


def _guarded_function(
    plugin: str, part: str, function: Any, *, is_predicate: bool = False
) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def wait(*args: Any, **kwargs: Any) -> Any:
            with guard(plugin, part):
                return await function(*args, **kwargs)

        return wait

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with guard(plugin, part):
                result = function(*args, **kwargs)
        except PluginFailed as error:
            if is_predicate:
                report(error.fault)
                return False
            raise
        if inspect.isawaitable(result):
            return _awaited(plugin, part, result)
        if isinstance(result, Iterator):
            return _iterated(plugin, part, result)  # pyright: ignore[reportUnknownArgumentType]
        return result

    return call


async def _awaited(plugin: str, part: str, result: Awaitable[Any]) -> Any:
    with guard(plugin, part):
        return await result


def _iterated(plugin: str, part: str, values: Iterator[Any]) -> Iterator[Any]:
    with guard(plugin, part):
        yield from values
