"""The declarations of macros: how one is written, what it does, how many arguments it takes.

To add one, decorate a function of a `MacroCall` with `macro`: it returns what replaces the macro,
and raises `NotExpanded` for arguments that it cannot use. Completion, help, the count of arguments
and whether `{{/name}}` may end it come from the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tui_chat.extensions import MacroPath, plugins
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.text import Text

if TYPE_CHECKING:
    from tui_chat.context.macros.expander import MacroCall

MacroFunction: TypeAlias = "Callable[[MacroCall], str | Text | None]"
"""Returns what replaces a macro; None for `{{trim}}`, which removes the line breaks around it."""


class NotExpanded(Exception):
    """A macro is not expanded; the message says why."""

    code = "macro-stays"


class UnknownMacro(NotExpanded):
    """There is no such macro or variable."""

    code = "unknown-macro"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A macro that all presets have."""

    name: str
    """In lower case."""
    written: str
    """What completion inserts, such as `{{random::a::b}}`."""
    summary: str
    """What it stands for, in a few words."""
    least: int
    most: int | None
    """How many arguments it takes, what stands before its end included; None for no limit."""
    run: MacroFunction

    def takes(self, arguments: int) -> bool:
        """True if it takes so many arguments."""
        return self.least <= arguments and (self.most is None or arguments <= self.most)


MACROS: dict[str, Declaration] = {}
"""Those of the core by name, in the order in which they are offered."""


def macro(
    written: str, summary: str, least: int = 0, most: int | None = 0
) -> Callable[[MacroFunction], MacroFunction]:
    """Declare a macro as it is `written` with arguments; see `Declaration`."""
    found = re.match(r"\{\{(//|\w+)", written)
    assert found is not None
    name = found[1].lower()

    def declare(run: MacroFunction) -> MacroFunction:
        MACROS[name] = Declaration(name, written, summary, least, most, run)
        return run

    return declare


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroPath, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    own = (MacroPath(each.name, "", each.written, each.summary) for each in MACROS.values())
    added = (each for plugin in plugins() for each in plugin.macros)
    given = (
        MacroPath(name.casefold(), "", f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    begin = typed.casefold()
    return tuple(each for each in (*own, *added, *given) if each.name.startswith(begin))
