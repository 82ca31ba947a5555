"""Finds plugins, imports their parts, and keeps what fails of them: a plugin cannot hurt.

1. Built-in plugins are the packages in `tui_chat.plugins`; a deleted folder is a plugin less. Other
   people's are found by the entry point group `ENTRY_POINTS`, and only those are imported that the
   configuration names in `[plugins] enabled`.
2. Functions of a plugin are called guarded. They may raise the errors of this program, which are
   part of the interface. Any other exception becomes a `PluginFailed` that names the plugin.
3. Each fault is kept once, in `faults`, and its traceback goes to `keep_traces`.
4. Where a caller can go on without the plugin it catches the error and calls `report`, which
   tells whoever watches (`watch_reports`). Otherwise the error is shown like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cache, wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, cast

from tui_chat.api import API, Action, Command, Format, Part, Plugin, Point, View
from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass

ENTRY_POINTS = "tui_chat.plugins"
MOST_FAULTS = 50
"""Faults that are kept."""
NAMED_POINTS = (
    *("commands", "exports", "views", "actions"),
    *("editing mode", "builder", "request form"),
)
"""The fields of a manifest, and the points of its parts, at which a name can be taken."""
_PREDICATES = frozenset(("detect", "holds", "is_entry"))
"""Functions of a plugin that say whether it reads a file: one that fails reads none."""
_VALUES: Mapping[str, type] = {
    "commands": Command,
    "actions": Action,
    "views": View,
    "formats": Format,
    "parts": Part,
    "tables": str,
}
"""The types of the values in a manifest's fields."""


# Faults


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


class _State:
    """The enabled plugins of other people, the faults, and who is told of them."""

    names: tuple[str, ...] = ()
    enabled: tuple[Plugin, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    reported: frozenset[PluginFault] = frozenset()
    keep: Callable[[str], None] | None = None
    watch: Callable[[PluginFault], None] | None = None


def faults() -> tuple[PluginFault, ...]:
    """Return the distinct faults of all plugins so far."""
    return _State.faults


def _add_fault(fault: PluginFault) -> None:
    """Keep a fault once, and give the tracebacks of all to `keep_traces`."""
    known = {(each.plugin, each.part, each.error) for each in _State.faults}
    if (fault.plugin, fault.part, fault.error) in known or len(known) >= MOST_FAULTS:
        return
    _State.faults += (fault,)
    if _State.keep is not None and fault.trace:
        _State.keep("\n".join(f"{each}\n{each.trace}" for each in _State.faults if each.trace))


def forget_faults() -> None:
    """Forget all faults: other plugins are enabled."""
    _State.faults, _State.reported = (), frozenset()


def keep_traces(keep: Callable[[str], None]) -> None:
    """Give the tracebacks of all faults to a function after each new one."""
    _State.keep = keep


def watch_reports(watch: Callable[[PluginFault], None] | None) -> None:
    """Call a function for each fault that is reported; None for nobody."""
    _State.watch = watch


def report(fault: PluginFault) -> None:
    """Tell of a fault after which the caller goes on; once for each."""
    if _State.watch is not None and fault not in _State.reported:
        _State.reported |= {fault}
        _State.watch(fault)


def failed(plugin: str, part: str, error: BaseException) -> PluginFailed:
    """Return the error for an exception of a plugin's part, and keep the fault."""
    fault = _fault(plugin, error, part)
    _add_fault(fault)
    return PluginFailed(fault)


def _fault(plugin: str, error: BaseException, part: str = "", path: str = "") -> PluginFault:
    from traceback import format_exception  # takes 5 ms

    sentence = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name == "tui_chat.extensions":
        sentence = f"it was made for api 1; this version of tui-chat has api {API} (tui_chat.api)."
    elif not isinstance(error, TuiChatError):
        sentence = f"{type(error).__name__}: {error}"
    trace = "" if isinstance(error, TuiChatError) else "".join(format_exception(error))
    return PluginFault(plugin, f"{path}: {sentence}" if path else sentence, part, trace)


def is_of_interface(error: BaseException) -> bool:
    """Return True for an exception that this program declares: a plugin may raise it."""
    return type(error).__module__.partition(".")[0] == "tui_chat"


def plugin_in(error: BaseException) -> Plugin | None:
    """Return the plugin whose code an exception came through last, if it did."""
    from traceback import walk_tb

    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    for module in reversed(modules):
        for plugin in plugins():
            own = {path.partition(":")[0] for _, path in import_paths(plugin)}
            if plugin in built_in_plugins():
                own = {f"{ENTRY_POINTS}.{plugin.name}"}
            if any(module == each or module.startswith(f"{each}.") for each in own):
                return plugin
    return None


# Plugins


@cache
def built_in_plugins() -> tuple[Plugin, ...]:
    """Return the plugins in `tui_chat.plugins`, by name."""
    folder = import_module(ENTRY_POINTS)
    names = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
    return tuple(import_module(f"{folder.__name__}.{name}").PLUGIN for name in names)


def plugins() -> tuple[Plugin, ...]:
    """Return all plugins: the built-in ones by name, then the enabled ones as configured."""
    return built_in_plugins() + _State.enabled


def enable(names: Iterable[str]) -> None:
    """Import the manifests of the installed plugins with these names, in place of those enabled
    before. What fails is in `faults()` then. Raises InputError if the user interrupts an import.
    """
    names = tuple(dict.fromkeys(names))
    if names == _State.names:
        return
    forget_faults()
    enabled: list[Plugin] = []
    for name in names:
        try:
            enabled.append(_installed(name))
        except (Exception, SystemExit) as error:  # other people's code may raise anything
            _add_fault(_fault(name, error))
        except KeyboardInterrupt:
            raise interrupted(name) from None
    _State.names, _State.enabled = names, tuple(enabled)


def interrupted(name: str) -> InputError:
    """Return the error for an import that the user has interrupted: it may have hung."""
    return InputError(
        f"The import of the plugin “{name}” was interrupted.",
        advice="If it hangs, remove its name from `[plugins] enabled` in config.toml.",
    )


def _installed(name: str) -> Plugin:
    from importlib.metadata import entry_points  # takes 10 ms

    if any(plugin.name == name for plugin in built_in_plugins()):
        raise InputError("a built-in plugin has this name.")
    entry = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if entry is None:
        raise InputError("no installed package brings it.")
    plugin = entry.load()
    if not isinstance(plugin, Plugin):
        raise InputError(f"{entry.value} is no Plugin.")
    if fault := _manifest_fault(plugin):
        raise InputError(f"{entry.value}: {fault}")
    if plugin.api != API:
        made_for = f"was made for api {plugin.api}" if plugin.api else "does not say its `api`"
        raise InputError(f"{entry.value} {made_for}; this version of tui-chat has api {API}.")
    return plugin


def _manifest_fault(plugin: Plugin) -> str:
    """Return what is wrong with the types in a manifest; empty for nothing."""
    for name in ("name", "summary", "config"):
        if not isinstance(getattr(plugin, name), str):
            return f"`{name}` is not a text."
    for name, kind in _VALUES.items():
        values = getattr(plugin, name)
        if not isinstance(values, tuple):
            return f"`{name}` is not a tuple; it is {type(values).__name__}."
        for value in cast("tuple[Any, ...]", values):
            if not isinstance(value, kind):
                return f"`{name}` has a {type(value).__name__}, not a {kind.__name__}."
            for text in fields(value) if kind is not str else ():
                if text.type == "str" and not isinstance(getattr(value, text.name), str):
                    return f"`{text.name}` of a {kind.__name__} is not a text."
    return ""


# Parts


def parts(point: str, taken: Container[str] = ()) -> Iterator[tuple[Plugin, Any]]:
    """Yield the named values that plugins add at one of `NAMED_POINTS`, with their plugins. One
    whose name the core has (`taken`), or a plugin before, is left out and becomes a fault.
    """
    owners: dict[str, str] = {}
    for plugin in plugins():
        for value in _values(plugin, point):
            owner = "tui-chat" if value.name in taken else owners.get(value.name, "")
            if owner:
                noun = f"the {point.removesuffix('s')} “{value.name}”"
                what = f"{noun} is left out: {owner} has one of this name."
                _add_fault(PluginFault(plugin.name, what))
            else:
                owners[value.name] = f"the plugin “{plugin.name}”"
                yield plugin, value


def _values(plugin: Plugin, point: str) -> tuple[Any, ...]:
    if point in ("formats", "exports"):
        is_export = point == "exports"
        return tuple(each for each in plugin.formats if bool(each.ending) is is_export)
    if point in _VALUES:
        return getattr(plugin, point)
    return tuple(part for part in plugin.parts if part.point == point)


def parts_at(point: Point) -> Iterator[tuple[Plugin, Part]]:
    """Yield the parts that all plugins add at a point, with their plugins."""
    return ((plugin, part) for plugin in plugins() for part in _values(plugin, point))


def import_paths(plugin: Plugin) -> Iterator[tuple[str, str]]:
    """Yield the import paths in a manifest, each after what it is, such as `view words`."""
    if plugin.config:
        yield "configuration", plugin.config
    for name in ("commands", "actions", "views", "formats", "exports", "parts"):
        for value in _values(plugin, name):
            noun = value.point if isinstance(value, Part) else name.removesuffix("s")
            texts: list[Any] = [getattr(value, each.name) for each in fields(value)]
            if isinstance(value, Part):
                texts += value.about.values()
            for text in texts:
                module, _, attribute = str(text).partition(":")
                if attribute.isidentifier() and module.replace(".", "").isidentifier():
                    yield f"{noun} {value.name}".strip(), text


def load(path: str) -> Any:
    """Return what an import path names. Raises what the import raises, and AttributeError."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def load_part(plugin: Plugin, path: str) -> Any:
    """Return a part of a plugin, whose functions are guarded. Raises InputError if it cannot be
    imported.
    """
    try:
        value = load(path)
    except (Exception, SystemExit) as error:
        if isinstance(error, InputError) and plugin in built_in_plugins():
            raise  # an optional package is missing
        fault = _fault(plugin.name, error, path=path)
        _add_fault(fault)
        raise PluginFailed(fault) from error
    known = _guarded.get((plugin.name, path))
    if known is None or known[0] is not value:
        nouns = (noun for noun, other in import_paths(plugin) if other == path)
        noun = next(nouns, path)
        part = guarded(plugin.name, noun, value)
        known = _guarded[plugin.name, path] = value, part
    return known[1]


_guarded: dict[tuple[str, str], tuple[Any, Any]] = {}
"""The values of parts, and these guarded, by plugin and path."""


def load_named(point: str, name: str, attribute: str = "path") -> Any:
    """Return a plugin's value of this name at one of `NAMED_POINTS`, or None; `attribute` has its
    path in the manifest. Raises InputError.
    """
    for plugin, value in parts(point):
        if value.name == name:
            return load_part(plugin, getattr(value, attribute))
    return None


def load_all(point: Point, kind: type = object) -> Iterator[Any]:
    """Yield what all plugins add at a point. A part that cannot be imported, or is not of a type,
    is left out and reported.
    """
    return (part for _, part in loaded_parts(point, kind))


def loaded_parts(point: Point, kind: type = object) -> Iterator[tuple[Plugin, Any]]:
    """Yield the same as `load_all`, with the plugins."""
    for plugin, part in parts_at(point):
        try:
            value = load_part(plugin, part.path)
            if not isinstance(value, kind):
                wrong = TypeError(f"{part.path} is no {kind.__name__}")
                raise failed(plugin.name, f"{point} {part.name}".strip(), wrong)
        except PluginFailed as error:
            report(error.fault)
        except InputError:  # an optional package is missing
            continue
        else:
            yield plugin, value


# Guarded calls


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
        return tuple(guarded(plugin, part, each) for each in cast("tuple[Any, ...]", value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        field.name: _guarded_function(plugin, part, function, field.name in _PREDICATES)
        for field in fields(value)
        if inspect.isroutine(function := getattr(value, field.name))
    }
    return replace(value, **changed)


def _guarded_function(
    plugin: str, part: str, function: Any, is_predicate: bool = False
) -> Callable[..., Any]:
    async def awaited(result: Any) -> Any:
        with guard(plugin, part):
            return await result

    def iterated(values: Any) -> Iterator[Any]:
        with guard(plugin, part):
            yield from values

    @wraps(function)
    async def wait(*args: Any, **kwargs: Any) -> Any:
        return await awaited(function(*args, **kwargs))

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
            return awaited(result)
        return iterated(result) if isinstance(result, Iterator) else result

    return wait if inspect.iscoroutinefunction(function) else call
