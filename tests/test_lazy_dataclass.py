"""`lazy_dataclass` against the standard one: both make the same class of the same fields."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from tui_chat.lazy_dataclass import dataclass as lazy

OPTIONS: list[dict[str, Any]] = [
    {},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "weakref_slot": True},
    {"frozen": True, "slots": True, "kw_only": True},
]


def make(dataclass: Callable[..., Any], options: dict[str, Any]) -> tuple[type[Any], type[Any]]:
    """Return a class with every kind of field, and a subclass."""

    @dataclass(**options)
    class Base:
        """A value."""

        name: str
        size: int = 3
        items: list[int] = field(default_factory=list)
        hidden: str = field(default="", repr=False, compare=False)
        keyword: str = field(default="", kw_only=True)

    @dataclass(**options)
    class Sub(Base):
        """A value with another field."""

        more: tuple[int, ...] = ()

    return Base, Sub


def outcome(function: Callable[[], object]) -> object:
    """Return the result of a call, or the error's type and message."""
    try:
        return function()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_the_standard_class(options: dict[str, Any]) -> None:
    told: list[list[object]] = []
    for dataclass in (dataclasses.dataclass, lazy):
        base, sub = make(dataclass, options)
        one = sub(name="a", more=(1,), keyword="k")
        same, hidden = sub(name="a", more=(1,), keyword="k"), replace(one, hidden="x")
        told.append(
            [
                repr(one),
                repr(base(name="b", items=[1])),
                one == same,
                one == hidden,
                one == replace(one, size=4),
                one != replace(one, size=4),
                one == base(name="a"),
                base(name="a") == sub(name="a"),
                one.items is same.items,
                copy.copy(one) == one and copy.deepcopy(one) == one,
                copy.deepcopy(one).items is one.items,
                [each.name for each in fields(sub)],
                sub.__match_args__,
                [*inspect.signature(sub).parameters],
                getattr(sub, "__slots__", None),
                outcome(lambda base=base: base()),
                outcome(lambda base=base: base(name="a", other=1)),
                outcome(lambda sub=sub: repr(sub("a", 1, [2], "h", (3,)))),
                outcome(lambda one=one: setattr(one, "name", "z")),
                outcome(lambda one=one: delattr(one, "size")),
                outcome(lambda sub=sub: hash(sub(name="a", items=())) == hash(sub("a", items=()))),
                outcome(lambda one=one: hash(one)) if options.get("eq", True) else "",
            ]
        )
    assert told[0] == told[1]


def test_equal_frozen_values_have_one_hash() -> None:
    _, sub = make(lazy, {"frozen": True, "slots": True})
    assert hash(sub("a", items=())) == hash(sub("a", items=(), hidden="x"))
    assert len({sub("a", items=()), sub("a", items=(), hidden="x"), sub("b", items=())}) == 2


def test_own_methods_stay() -> None:
    @lazy(frozen=True, slots=True)
    class Own:
        """A value with methods of its own."""

        name: str

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

    assert repr(Own("a")) == "own"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == 7


def test_is_called_after_the_fields() -> None:
    @lazy
    class After:
        """A value whose `__post_init__` runs."""

        name: str

        def __post_init__(self) -> None:
            self.name += "!"

    assert After("a").name == "a!"


def test_a_frozen_value_cannot_be_changed() -> None:
    base, _ = make(lazy, {"frozen": True, "slots": True})
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        base("a").name = "b"


def test_nothing_is_compiled_for_a_class_that_is_not_used() -> None:
    base, _ = make(lazy, {"frozen": True, "slots": True})
    assert "name" not in inspect.signature(base.__init__).parameters
    base("a")
    assert "name" in inspect.signature(base.__init__).parameters
