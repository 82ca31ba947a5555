"""The timers that a session keeps after a request."""

from __future__ import annotations

from tests.context.requests import ENDPOINT
from tui_chat.context import Inputs
from tui_chat.context.lorebooks.timers import next_timers
from tui_chat.models.chat_settings import ChatSettings
from tui_chat.models.lore_rules import LoreTimer
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.tokens import counter_for

BOOK = Lorebook(
    "b",
    (
        LorebookEntry("s", "S", ("fox",), sticky=2),
        LorebookEntry("c", "C", ("fox",), cooldown=3),
        LorebookEntry("both", "B", ("fox",), sticky=2, cooldown=4),
        LorebookEntry("none", "N", ("fox",)),
    ),
)


def after(said: int, draft: str, *timers: LoreTimer) -> set[tuple[str, str, int, int]]:
    """The timers after a request with so many messages before the draft."""
    history = tuple(Message("user", "x", str(number)) for number in range(said))
    inputs = Inputs(
        ENDPOINT,
        Preset("p"),
        history,
        draft,
        lorebooks=(BOOK,),
        chat=ChatSettings(timers=timers),
    )
    found = next_timers(inputs, counter_for("gpt-4o"))
    return {(timer.entry, timer.kind, timer.start, timer.end) for timer in found}


def test_active_entries_begin_their_timers():
    both = ("both", "sticky", 4, 6), ("both", "cooldown", 4, 8)
    assert after(3, "a fox") == {("s", "sticky", 4, 6), ("c", "cooldown", 4, 7), *both}
    assert after(3, "a wolf") == set()


def test_a_timer_that_runs_is_kept_and_one_that_ended_goes():
    timer = LoreTimer("b", "s", "sticky", 4, 6)
    assert after(4, "a wolf", timer) == {("s", "sticky", 4, 6)}
    assert after(5, "a wolf", timer) == set()


def test_a_timer_goes_if_messages_were_removed():
    assert after(3, "a wolf", LoreTimer("b", "s", "sticky", 4, 6)) == set()
    kept = LoreTimer("b", "c", "cooldown", 4, 7, protected=True)
    assert after(3, "a wolf", kept) == {("c", "cooldown", 4, 7)}


def test_a_cooldown_follows_the_end_of_a_sticky_entry():
    timer = LoreTimer("b", "both", "sticky", 4, 6)
    assert after(5, "a wolf", timer) == {("both", "cooldown", 6, 10)}
