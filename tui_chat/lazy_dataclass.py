"""`dataclass` of the standard library, but each method is compiled when it is first called.

The standard one compiles up to six methods for every class, which takes 0.5 ms; here a class takes
0.05 ms, and the app imports more than 300 before its first screen is whole. `field`, `fields`,
`replace` and `asdict` of `dataclasses` work as usual. Not supported: `InitVar`, `order`,
`unsafe_hash` and fields with `init=False`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as standard_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, **options):
        """Return a class with the methods of a dataclass. The options are the standard ones."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, **options)
        own = {**cls.__dict__}
        cls = standard_dataclass(init=False, repr=False, eq=False, **options)(cls)
        methods = {"__init__": _on_first_call(cls, "__init__", frozen), "__repr__": _repr}
        if eq:
            methods["__eq__"] = _on_first_call(cls, "__eq__", frozen)
            methods["__hash__"] = _on_first_call(cls, "__hash__", frozen) if frozen else None
        if frozen:
            methods |= _frozen_methods(cls)
        for name, method in methods.items():
            if own.get(name) is None:  # beside an `__eq__`, Python itself sets `__hash__` to None
                setattr(cls, name, method)
        cls.__signature__ = _Signature()
        return cls


def _on_first_call(cls: type[Any], name: str, frozen: bool) -> Callable[..., Any]:
    """Return a method that compiles the real one, puts it in its own place and calls it."""

    def method(self: object, *args: object, **kwargs: object) -> Any:
        if name == "__init__":
            compiled = _init(cls, frozen)
        else:
            compiled = _comparison(cls, name)
        setattr(cls, name, compiled)
        return compiled(self, *args, **kwargs)

    return method


class _Signature:
    """The signature of a class, for `inspect.signature`: the parameters of its `__init__`."""

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        if instance is not None:  # of an instance, what its `__call__` takes
            raise AttributeError("__signature__")
        _, *parameters = inspect.signature(_init(owner, frozen=False)).parameters.values()
        return inspect.Signature(parameters)


def _compiled(cls: type[Any], head: str, lines: Iterable[str], **names: Any) -> Callable[..., Any]:
    """Return a method; `names` are the values that its lines use."""
    exec(f"def {head}:\n " + "\n ".join(lines), names)  # noqa: S102  of names of fields alone
    method = names[head.partition("(")[0]]
    method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    return method


def _init(cls: type[Any], frozen: bool) -> Callable[..., Any]:
    positional, keywords, lines = ["self"], ["*"], ["pass"]
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    for field in fields(cls):
        name = value = parameter = field.name
        default = f"_default_{name}"
        if field.default is not MISSING:
            names[default], parameter = field.default, f"{name}={default}"
        elif field.default_factory is not MISSING:
            names[default], parameter = field.default_factory, f"{name}=_missing"
            value = f"{default}() if {name} is _missing else {name}"
        (keywords if field.kw_only else positional).append(parameter)
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(positional + (keywords if len(keywords) > 1 else []))
    return _compiled(cls, f"__init__({parameters})", lines, **names)


def _comparison(cls: type[Any], name: str) -> Callable[..., Any]:
    """Return `__eq__` or `__hash__`."""
    compared = [field.name for field in fields(cls) if field.compare]
    mine, others = (
        f"({''.join(f'{of}.{field}, ' for field in compared)})" for of in ("self", "other")
    )
    if name == "__hash__":
        return _compiled(cls, "__hash__(self)", [f"return hash({mine})"])
    lines = (
        "if other.__class__ is not self.__class__:",
        "    return NotImplemented",
        f"return {mine} == {others}",
    )
    return _compiled(cls, "__eq__(self, other)", lines)


def _repr(self: Any) -> str:
    values = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(values)})"


def _frozen_methods(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """Return what refuses changes, and what `copy` and `pickle` use instead of changes."""
    names = [field.name for field in fields(cls)]

    def set_attribute(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    def get_state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def set_state(self: object, state: list[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": set_attribute,
        "__delattr__": delete_attribute,
        "__getstate__": get_state,
        "__setstate__": set_state,
    }
