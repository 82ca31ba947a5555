"""How a preset's macros differ from those of the core: a value that the preset's builder supplies.

The core's macros are the default of every field. `macros.expander` asks the dialect of a request,
never which program it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from tui_chat.context.macros.syntax import CORE_SYNTAX, Macro, MacroSyntax
from tui_chat.lazy_dataclass import dataclass

Word: TypeAlias = Callable[[Any], str]
"""Returns the value of a macro that is only a name, from the `Inputs`."""
MacroFunction: TypeAlias = Callable[[Any], str]
"""Returns the text that replaces a macro, from its `MacroCall`."""


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True, eq=False)
class MacroDialect:
    """What the macros of a preset look like, which there are, and how they are expanded."""

    syntax: MacroSyntax = CORE_SYNTAX

    # --- which macros there are ---
    words: Mapping[str, Word] = field(default_factory=dict[str, Word])
    """Macros that are only a name, where their values differ from the core's."""
    further_words: Mapping[str, Word] = field(default_factory=dict[str, Word])
    """Macros that the core does not have. A variable of the same name goes before them."""
    card_words: Mapping[str, str] = field(default_factory=dict[str, str])
    """More names of the fields of a character card, and the name that the core has for each."""
    functions: Mapping[str, MacroFunction] = field(default_factory=dict[str, MacroFunction])
    """Macros with arguments that the core does not have, or expands to something else."""
    fault: Callable[[Macro, str], str] | None = None
    """Returns why a macro of a text is not expanded, empty if it is; None for the core's rule: it
    has too many arguments."""
    has_lore_words: bool = True
    """True if the lore before and after the character are macros; else texts can only require
    them."""

    # --- what their values are ---
    reads_numbers: bool = False
    """True if a variable that looks like a number is read as one: `1.0` as `1`."""
    is_lenient: bool = False
    """True if arguments that a macro cannot use make it expand to nothing; else it stays as it is
    written, with a note."""
    keeps_blanks: bool = False
    """True if white space counts as a value, and a message that expands to it is sent."""
    empty_conditions: frozenset[str] = frozenset()
    """Names that are false as the condition of an `if`."""
    stays_whole: frozenset[str] = frozenset()
    """Macros that stay with the macros inside them where they cannot be expanded."""

    # --- how texts are nested, and in which order they are expanded ---
    is_never_parsed: Callable[[str, str], bool] = _never
    """True if the macros in a value, of which it gets the name and the text, are not expanded."""
    nested_fields: frozenset[str] | None = None
    """The fields of a character card that its own texts can read, the others being empty in them;
    None for all."""
    nested_values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values that are others in the texts of a character card."""
    is_profile_nested: bool = False
    """True if the profile's text counts as one of the card's."""
    first: tuple[str, ...] = ()
    """The macros of a text that are expanded before all others in it, in this order."""
    is_expanded_twice: Callable[[Any], bool] = _never
    """True if the macros that the expansion of a `ResolvedMessage` leaves are expanded, too."""


CORE_DIALECT = MacroDialect()
"""The macros of the core."""
