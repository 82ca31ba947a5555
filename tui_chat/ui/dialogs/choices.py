"""Dialogs that offer a list to choose from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from rich.table import Column, Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, DialogBox, set_title
from tui_chat.ui.widgets.safe_text import TextField


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a `ChoiceDialog` dialog."""

    id: str
    label: str
    detail: str = ""
    group: str = ""
    """Its group, which is looked through too; choices of one that is typed in full come first."""
    is_repeated: bool = False
    """True if the label of another choice says enough: it is offered if it is the current one, or
    if words of its detail are typed.
    """

    @property
    def searched(self) -> str:
        """The text in which typed words are looked for."""
        return f"{self.label} {self.detail} {self.group}".casefold()


FEW = 16
"""Choices whose details may take several lines each; of more, one line of each is shown."""
MIN_WIDTH, MAX_WIDTH = 72, 104
"""Columns that a dialog takes at least, if the terminal has them, and at most."""
MORE_KEYS = ("ctrl+e", "delete")
"""Keys besides Enter that may choose."""


class ChoiceDialog(Dialog[str | None]):
    """Offers a list; typing filters it. The result is the id of a choice, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        *(Binding(key, f"choose('{key}')", show=False, priority=True) for key in MORE_KEYS),
    ]
    hint: str = "Enter select · Esc cancel"
    """The keys, in the last line."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        current: str,
        preview: Callable[[str], None] | None = None,
        *,
        has_filter: bool = True,
        hint: str = "",
        keys: Collection[str] = (),
        marks_current: bool = True,
        typed: str = "",
    ) -> None:
        """`preview` is called with the id of each choice that gets highlighted. Without
        `has_filter` typing does nothing. `keys`: those of the `MORE_KEYS` that choose.
        `typed`: what the list is filtered by at first.
        """
        super().__init__()
        self._typed = typed
        self._keys, self._mark = keys, "● " if marks_current else "  "
        self.key = "enter"
        """The key that chose."""
        self._has_filter = self.takes_keys_typed_ahead = has_filter
        self._title, self.hint = title, hint or self.hint
        self._preview = preview
        self.choices: Sequence[Choice] = ()
        """All choices, matching or not."""
        self._label_width = 0
        self._current = current
        self._take(choices)

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, self._title)
            longest = max((len(choice.detail) for choice in self.choices), default=0)
            box.styles.width = min(max(MIN_WIDTH, self._label_width + longest + 12), MAX_WIDTH)
            if self._has_filter:
                yield TextField(self._typed, placeholder="Type to filter")
            options = OptionList()
            options.can_focus = not self._has_filter
            yield options
            yield Static(self.hint, classes="hint")

    def on_mount(self) -> None:
        self._filter(self._typed)

    def offer(self, choices: Sequence[Choice]) -> None:
        """Replace the choices; the filter and the highlighted choice stay. The current one is
        highlighted if it is offered only now and the first one was.
        """
        options, highlighted = self.query_one(OptionList), self._current
        was_offered = any(choice.id == self._current for choice in self.choices)
        if options.highlighted is not None and (was_offered or options.highlighted):
            highlighted = options.get_option_at_index(options.highlighted).id or highlighted
        self._take(choices)
        self._filter(self.query_one(Input).value, highlighted)

    def _take(self, choices: Sequence[Choice]) -> None:
        self.choices = choices
        self._label_width = min(max((len(choice.label) for choice in choices), default=0), 32)

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        self._filter(event.value)

    def _filter(self, words: str, highlighted: str = "") -> None:
        """Show what matches, and highlight a choice if it matches as well as the first one: by
        default the current one.
        """
        highlighted = highlighted or self._current
        matching = self.matching(words)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(self.option(choice) for choice in matching)
        if not matching:
            options.add_option(Option(Text("  No matches.", style="dim"), disabled=True))
            return
        numbers = (
            number
            for number, choice in enumerate(matching)
            if choice.id == highlighted and _rank(choice, words) == _rank(matching[0], words)
        )
        options.highlighted = next(numbers, 0)

    def matching(self, words: str) -> list[Choice]:
        """Return the choices that have all these words: first those of a group that is named in
        full, then one that is called so, then those whose names begin so.
        """
        typed_words = words.casefold().split()
        matches = [
            choice
            for choice in self.choices
            if all(word in choice.searched for word in typed_words)
            and not (choice.is_repeated and self._is_said_by_label(choice, typed_words))
        ]
        return sorted(matches, key=lambda choice: _rank(choice, words))

    def _is_said_by_label(self, choice: Choice, words: Sequence[str]) -> bool:
        label = choice.label.casefold()
        return choice.id != self._current and all(word in label for word in words)

    def option(self, choice: Choice) -> Option:
        """Return the line of a choice."""
        mark = self._mark if choice.id == self._current else "  "
        label = one_line(choice.label)
        line = Text(mark + label)
        if choice.detail and len(self.choices) <= FEW and len(label) <= self._label_width:
            table = Table.grid(Column(width=self._label_width + 4), Column(style="dim"))
            table.add_row(line, Text(one_line(choice.detail)))
            return Option(table, id=choice.id)
        if choice.detail:
            gap = " " * (max(self._label_width - len(label), 0) + 2)
            line.append(gap + one_line(choice.detail), style="dim")
        return Option(line, id=choice.id)

    def action_move(self, by: int) -> None:
        """Move the highlight; the focus stays in the filter."""
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys that do not choose here to the filter."""
        return action != "choose" or parameters[0] in self._keys

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_choose("enter")

    def action_choose(self, key: str) -> None:
        """Answer with the highlighted choice; `key` chose it."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self.key = key
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._preview is not None and event.option.id is not None:
            self._preview(event.option.id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


def _rank(choice: Choice, typed: str) -> tuple[bool, bool, bool]:
    """Return what sorts a choice by how well it matches what was typed: less is better."""
    name, label = typed.strip().casefold(), choice.label.casefold()
    is_other_group = choice.group.casefold() not in name.split()
    return is_other_group, label != name, not label.startswith(name)
