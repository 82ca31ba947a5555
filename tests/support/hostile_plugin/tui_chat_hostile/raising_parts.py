"""The parts of `raising`: each raises, in its own way and place."""

from dataclasses import dataclass

import click
from textual import on
from textual.screen import ModalScreen
from textual.widgets import Button

from tui_chat.context.macros.expansion import Declaration
from tui_chat.interop.formats import LinesFormat
from tui_chat.ui.inspector.rows_view import LaterRow, RowsView, text_rows

NOTHING = 3


@dataclass
class Settings:
    word: str = ""

    def __post_init__(self):
        raise RuntimeError("no settings")


@click.command()
def command():
    "Raise."
    raise ValueError("no command")


@click.command()
def os_command():
    "Raise an OSError."
    raise FileNotFoundError(2, "nowhere")


def fail(*_, **__):
    raise ValueError("no use")


def rules(preset):
    raise ValueError("no rules")


def build(inputs, counter):
    raise ValueError("no build")


class _Reader:
    def __init__(self, source):
        raise ValueError("no read")


FORMATS = (LinesFormat(fail, _Reader), LinesFormat(lambda record: "hostile" in record, _Reader))


def export(transcript, zone):
    yield "half"
    raise ValueError("no export")


def macro(call):
    raise ValueError("no macro")


MACROS = (Declaration("hostile", "{{hostile::a}}", "Raises.", 0, 1, macro),)


async def act(app, argument):
    raise ValueError("no action")


class FaultyDialog(ModalScreen):
    BINDINGS = (("x", "fail", "Fail"),)

    def compose(self):
        yield Button("a faulty button")

    @on(Button.Pressed)
    def press(self):
        raise ValueError("no dialog")

    def action_fail(self):
        raise ValueError("no dialog")


async def show(app, argument):
    await app.push_screen_wait(FaultyDialog())


async def listen(workspace, event):
    raise ValueError("no listening")


async def load(workspace):
    raise ValueError("no load")


class Mode:
    label = "hostile"

    def reset(self, text): ...

    def insert(self): ...

    def take(self, text, cursor): ...

    def press(self, key, character, text, cursor):
        raise ValueError("no press")


def add_rules(parser):
    def rule(state):
        if "fault" in state.src:
            raise ValueError("no rule")

    parser.core.ruler.push("hostile", rule)


class Source:
    name = "hostile"

    @property
    def tools(self):
        raise ValueError("no tools")

    @property
    def status(self):
        raise ValueError("no status")

    async def load(self):
        raise ValueError("no load")

    async def call(self, tool, arguments):
        raise ValueError("no call")

    async def close(self):
        raise ValueError("no close")


def open_sources(context):
    return (Source(),)


class PlainView(RowsView):
    def build(self, width):
        return [text_rows("a plain view", width)]


class InitView(PlainView):
    def __init__(self):
        raise ValueError("no init")


class ShowsView(PlainView):
    def show_state(self, state):
        raise ValueError("no show")


class BuildsView(RowsView):
    def build(self, width):
        raise ValueError("no build")


class RowsView(RowsView):  # the name that the manifest makes
    def build(self, width):
        return [[LaterRow(fail), LaterRow(fail)]]


class HandlesView(PlainView):
    def on_mount(self):
        self.set_timer(0.01, fail)

    @on(RowsView.RowHighlighted)
    def highlight(self):
        raise ValueError("no handler")


class ActsView(PlainView):
    BINDINGS = (("x", "fail", "Fail"),)

    def action_fail(self):
        raise ValueError("no view action")


class StaysView(PlainView):
    def build(self, width):
        return [text_rows("this one stays", width)]


class CssView(PlainView):
    DEFAULT_CSS = "CssView { nothing: [ }"
