"""What a terminal sends, byte for byte, and the events that are made of it."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.constants import ESCAPE_DELAY
from textual.message import Message

from tests.support.tables import each_row
from tui_chat.ui.terminal.input_parser import PASTE_END, PASTE_START, TerminalParser

RED_LOG = "\x1b[31merror\x1b[0m: no\r\n\x1b[1mnext\x1b[0m\r\x1b"


def told(event: Message) -> str:
    """A key's name; a paste in brackets; a name of anything else."""
    match event:
        case events.Key():
            return event.key
        case events.Paste():
            return f"[{event.text}]"
        case _:
            return type(event).__name__


def fed(*pieces: str, clock: float = 0.0) -> list[str]:
    keyboard = TerminalParser(clock=lambda: clock)
    return [told(event) for piece in pieces for event in keyboard.feed(piece)]


def test_a_paste_with_escapes_is_one_paste_and_later_keys_arrive():
    assert fed(f"a{PASTE_START}{RED_LOG}{PASTE_END}b\x1b[A") == ["a", f"[{RED_LOG}]", "b", "up"]


def test_pastes_follow_each_other():
    pastes = (f"{PASTE_START}{text}{PASTE_END}" for text in ("1", "", "\x1b"))
    assert fed("".join(pastes) + "\r") == [
        "[1]", "[]", "[\x1b]", "enter"
    ]  # fmt: skip


@given(
    st.text(alphabet="a\x1b[201~\r\n你\t", max_size=40).filter(lambda t: PASTE_END not in t),
    st.lists(st.integers(1, 60), max_size=6),
)
def test_input_can_be_split_anywhere(text: str, cuts: list[int]):
    if PASTE_END in f"{text}{PASTE_END}"[:-1]:
        return  # its own end and the marker's beginning make an earlier marker
    stream = f"x{PASTE_START}{text}{PASTE_END}y"
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[low:high] for low, high in pairwise(places)]
    assert fed(*pieces) == ["x", f"[{text}]", "y"]


def test_a_megabyte_is_pasted_whole():
    keyboard = TerminalParser()
    text = "some \x1b[31mred\x1b[0m words\r\n" * 45_000
    stream = f"{PASTE_START}{text}{PASTE_END}"
    pieces = (stream[start : start + 4096] for start in range(0, len(stream), 4096))
    events = [event for piece in pieces for event in keyboard.feed(piece)]
    assert [told(event) for event in events] == [f"[{text}]"]


@each_row(
    ("sent", "keys"),
    [
        ("\x1b\r", ["alt+enter"]),
        ("\x1b[13;2u", ["shift+enter"]),
        ("\x1b[13;3u", ["alt+enter"]),
        ("\x1b[27;2;13~", ["shift+enter"]),
        ("\x1b[27;3;13~", ["alt+enter"]),
        ("\x1b[27;5;13~", ["ctrl+enter"]),
        ("\x1b[27;6;69~", ["ctrl+shift+e"]),
        ("\x1b[27;2;65~", ["A"]),
        ("\x1b[27;2;32~", ["space"]),
        ("\x1b[27;5;1114112~", []),
        ("\r", ["enter"]),
        ("\n", ["ctrl+j"]),
        ("\t", ["tab"]),
        ("你好", ["你", "好"]),
        ("\x1b[0;;20320u", ["你"]),
        ("\x1b[I\x1b[O", ["AppFocus", "AppBlur"]),
        ("\x1b[<0;3;4M", ["MouseDown"]),
    ],
)
def test_key_sequences_are_parsed(sent: str, keys: list[str]):
    assert fed(sent) == keys


@each_row(
    ("pieces", "events"),
    [
        # nobody types on after Enter within one read
        (["first line\rsecond line\r"], ["[first line\rsecond line\r]"]),
        (["x" * 600, "y\r"], [f"[{'x' * 600}]", "[y\r]"]),
        # what is typed is typed
        (["hi\r"], ["h", "i", "enter"]),
        (["typed ahead\r"], [*"typed", "space", *"ahead", "enter"]),
        (["a\rb\r"], ["a", "enter", "b", "enter"]),
    ],
)
def test_a_burst_with_lines_is_a_paste(pieces: list[str], events: list[str]):
    assert fed(*pieces) == events


def test_a_letter_with_alt_is_no_text():
    parser = TerminalParser()
    pressed = [*parser.feed("\x1br")]
    time.sleep(ESCAPE_DELAY * 1.5)  # the parser waits for the rest of a sequence
    pressed += parser.tick()
    assert [(key.key, key.character) for key in pressed] == [("alt+r", None)]


@each_row(
    "text",
    [
        "👩\u200d🌾",
        "🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
        "e\u0301",
        "\u202eabc",
        "a\u00adb",
        "全\u3000角",
        "10\u00a0km",
        "\ue0b0",
        "\U0001fae8\U0001fadc",  # newer than the Unicode of some Pythons
    ],
)
def test_each_character_of_a_text_is_typed(text: str):
    keys = [*TerminalParser().feed(text)]
    assert all(isinstance(key, events.Key) and key.is_printable for key in keys)
    assert [key.character for key in keys if isinstance(key, events.Key)] == [*text]


@each_row("sent", ["\x1b[A", "\x00", "\x7f", "\x9b", "\u2028", "\x1b[13;2u", "\r", "\t"])
def test_a_control_character_is_no_text(sent: str):
    keys = [*TerminalParser().feed(sent)]
    assert keys
    assert not any(isinstance(key, events.Key) and key.is_printable for key in keys)


def test_a_burst_ends_with_a_pause():
    seconds = iter((0.0, 0.2, 0.4, 0.6))
    keyboard = TerminalParser(clock=lambda: next(seconds))
    found = [told(e) for piece in ("one line\nand another", "\r") for e in keyboard.feed(piece)]
    assert found == ["[one line\nand another]", "enter"]
