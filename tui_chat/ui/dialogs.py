"""Small questions on top of the screen: each is answered with Enter or left with Esc."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from rich.table import Column, Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.models.visible import one_line, visible

T = TypeVar("T")


def entitle(box: Widget, title: str) -> None:
    """Put a title into a frame: names that others gave stand in it."""
    box.border_title = Content(one_line(title, 120))


class Dialog(ModalScreen[T]):
    """A framed box in the middle; Esc answers `None` or its like."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > Vertical {
            width: 72;
            max-width: 92%;
            height: auto;
            max-height: 90%;
            padding: 1 2;
            border: round $primary;
            border-title-color: $text-primary;
            border-title-style: bold;
            background: $surface;
        }
        Static { width: 1fr; height: auto; }
        Input, Input:focus { height: 1; border: none; padding: 0 1; background: $panel; }
        Input:focus { background: $primary 20%; }
        OptionList { height: auto; max-height: 50vh; margin-top: 1; border: none; }
        OptionList { background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        VerticalScroll { height: auto; max-height: 60vh; }
        .buttons { height: auto; margin-top: 1; align-horizontal: right; }
        .buttons Button { margin-left: 2; }
        .hint { color: $foreground 72%; margin-top: 1; }
    }
    """

    AUTO_FOCUS = "*"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)


class AskText(Dialog[str | None]):
    """Asks for a line of text; the answer is stripped, and not empty unless it may be."""

    keys_told: ClassVar[str] = ""
    """What is told of further keys, with ` · ` at its end."""

    def __init__(
        self, title: str, value: str, *, may_be_empty: bool = False, enter: str = "keeps it"
    ) -> None:
        """`enter` is what Enter does."""
        super().__init__()
        self._enter = enter
        self._may_be_empty = may_be_empty
        self._title = title
        self._value = value

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            entitle(box, self._title)
            yield Input(visible(self._value))
            yield Static(
                f"{self.keys_told}Enter {self._enter} · Esc leaves it as it was",
                classes="hint",
                markup=False,
            )

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        answer = event.value.strip()
        self.dismiss(answer if answer or self._may_be_empty else None)


class Confirm(Dialog[bool | None]):
    """Asks whether to do something that cannot be taken back; a long question scrolls."""

    DEFAULT_CSS = """
    Confirm VerticalScroll { max-height: 50vh; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
        Binding("left,right", "app.focus_next", show=False),
        Binding("y", "answer(True)", show=False),
        Binding("n", "answer(False)", show=False),
    ]

    def __init__(self, title: str, question: str, *, yes: str, no: str = "Cancel") -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """Lay out the box; the harmless button has the focus."""
        with Vertical() as box:
            entitle(box, self._title)
            with VerticalScroll(can_focus=False):
                yield Static(Text(visible(self._question)))
            with Horizontal(classes="buttons"):
                yield Button(self._no, id="no")
                yield Button(self._yes, id="yes", variant="error")

    def on_mount(self) -> None:
        """Put the focus on the harmless button."""
        self.query_one("#no", Button).focus()

    def action_answer(self, yes: bool) -> None:
        """Answer with a letter."""
        self.dismiss(yes)

    def action_scroll(self, lines: int) -> None:
        """Read on in the question."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a `Choose` dialog."""

    id: str
    label: str
    detail: str = ""
    group: str = ""
    """What it is one of; typed in full, the choices of this group go first."""


MADE = "+"
"""What stands before the name of a choice that was typed."""


class Choose(Dialog[str | None]):
    """Asks for one of many; typing narrows the list. The answer is the choice's id."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        current: str,
        preview: Callable[[str], None] | None = None,
        *,
        makes: str = "",
    ) -> None:
        """`preview` is told the id of the marked choice, whenever another is marked. Where one
        can be made of what was typed, `makes` says what; its id is `MADE` and the name.
        """
        super().__init__()
        self._makes = makes
        self._title = title
        self._preview = preview
        self._choices: Sequence[Choice] = ()
        self._label_width = 0
        self._current = current
        self._take(choices)

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            entitle(box, self._title)
            yield Input(placeholder="Type to narrow the list")
            options = OptionList()
            options.can_focus = False
            yield options

    def on_mount(self) -> None:
        """Show all, with the present choice marked."""
        self._narrow("")

    def offer(self, choices: Sequence[Choice]) -> None:
        """Offer other choices from now on; what was typed and marked stays."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self._current = options.get_option_at_index(options.highlighted).id or self._current
        self._take(choices)
        self._narrow(self.query_one(Input).value)

    def _take(self, choices: Sequence[Choice]) -> None:
        self._choices = choices
        self._label_width = min(max((len(choice.label) for choice in choices), default=0), 32)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._narrow(event.value)

    def _narrow(self, words: str) -> None:
        wanted = words.casefold().split()
        fitting = [
            choice
            for choice in self._choices
            if all(word in f"{choice.label} {choice.detail}".casefold() for word in wanted)
        ]
        # A group that is typed in full goes first: “vllm” means it and not “vllm-8001”.
        exact = {choice.id for choice in fitting if choice.group.casefold() in wanted}
        fitting.sort(key=lambda choice: choice.id not in exact)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(self._option(choice) for choice in fitting)
        ids = [choice.id for choice in fitting]
        name = words.strip()
        if self._makes and name and all(choice.label != name for choice in self._choices):
            options.add_option(Option(Text(f"  {self._makes} “{one_line(name)}”"), id=MADE + name))
            ids.append(MADE + name)
        if not ids:
            options.add_option(Option(Text("  Nothing fits.", style="dim"), disabled=True))
        else:
            meant = self._current in ids and (not exact or self._current in exact)
            options.highlighted = ids.index(self._current) if meant else 0

    def _option(self, choice: Choice) -> Option:
        mark = "● " if choice.id == self._current else "  "
        label = one_line(choice.label)
        line = Text(mark + label)
        if choice.detail:
            gap = " " * (max(self._label_width - len(label), 0) + 2)
            line.append(gap + one_line(choice.detail), style="dim")
        return Option(line, id=choice.id)

    def action_move(self, by: int) -> None:
        """Move the mark; the focus stays where one types."""
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @on(Input.Submitted)
    def _entered(self) -> None:
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    @on(OptionList.OptionHighlighted)
    def _marked(self, event: OptionList.OptionHighlighted) -> None:
        if self._preview is not None and event.option.id is not None:
            self._preview(event.option.id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class ChooseMany(Dialog[tuple[str, ...] | None]):
    """Asks for any of many; the answer keeps the order in which they were marked."""

    def __init__(
        self, title: str, choices: Sequence[Choice], marked: Sequence[str], none: str = ""
    ) -> None:
        """`none` is said where there is nothing to choose from."""
        super().__init__()
        self._none = none
        self._title = title
        self._choices = choices
        self._marked = list(marked)

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            entitle(box, self._title)
            options = OptionList()
            options.display = bool(self._choices)
            yield options
            hint = "Enter marks · Ctrl+S keeps the marked · Esc leaves"
            if not self._choices:
                yield Static(self._none, markup=False)
                hint = "Esc leaves"
            yield Static(hint, classes="hint")

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", show=False, priority=True),
        Binding("space", "mark", show=False),
    ]

    def on_mount(self) -> None:
        """Show the marks."""
        self._show()

    def _show(self) -> None:
        options = self.query_one(OptionList)
        at = options.highlighted or 0
        options.clear_options()
        for choice in self._choices:
            place = self._marked.index(choice.id) + 1 if choice.id in self._marked else 0
            mark = f"{place:>2} " if place else " · "
            options.add_option(Option(Text(mark + one_line(choice.label)), id=choice.id))
        options.highlighted = at if self._choices else None

    @on(OptionList.OptionSelected)
    def _chosen(self) -> None:
        self.action_mark()

    def action_mark(self) -> None:
        """Mark the line, or take its mark away."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            chosen = self._choices[options.highlighted].id
            if chosen in self._marked:
                self._marked.remove(chosen)
            else:
                self._marked.append(chosen)
            self._show()

    def action_keep(self) -> None:
        """Answer with what is marked."""
        self.dismiss(tuple(self._marked))


class Help(Dialog[None]):
    """All keys at a glance."""

    DEFAULT_CSS = """
    Help .keys { padding: 0 0 1 2; }
    """

    def __init__(self, sections: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> None:
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            box.border_title = "Keys"
            with VerticalScroll():
                for title, keys in self._sections:
                    yield Static(Text(title, style="bold"))
                    keyed = Column(width=22, style="bold")
                    table = Table.grid(keyed, Column(), padding=(0, 0, 0, 2))
                    for key, what in keys:
                        table.add_row(key, what)
                    yield Static(table, classes="keys")
            yield Static("Esc closes this", classes="hint")

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one(VerticalScroll).focus()
