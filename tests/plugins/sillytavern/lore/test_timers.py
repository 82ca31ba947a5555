"""The timers after a request, and those over the turns of a conversation."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import ENDPOINT
from tui_chat.context import Inputs
from tui_chat.context.inputs import prefilled_history
from tui_chat.models.generation import ChatSettings
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import About, Message
from tui_chat.models.preset import Preset
from tui_chat.models.settings import LoreTimer
from tui_chat.plugins.sillytavern.lore.outcomes import lore_outcomes
from tui_chat.plugins.sillytavern.lore.search import EntryState
from tui_chat.plugins.sillytavern.lore.timers import timers_after, with_lore_timers

STICKY = Lorebook("b", (LorebookEntry("s", "S", ("fox",), sticky=4),), scan_depth=1)


def chat(*texts: str) -> tuple[Message, ...]:
    """Messages of user and assistant in turn."""
    return tuple(
        Message.of("assistant" if n % 2 else "user", text, str(n)) for n, text in enumerate(texts)
    )


def inputs(*texts: str, draft: str = "x", book: Lorebook = STICKY) -> Inputs:
    return Inputs(ENDPOINT, Preset("p"), chat(*texts), draft, lorebooks=(book,))


def active(request: Inputs) -> str:
    """The active entries of a request with the timers of its history."""
    request = with_lore_timers(request)
    return " ".join(each.entry.id for each in lore_outcomes(request).of(EntryState.ACTIVE))


def test_a_sticky_entry_stays_as_long_as_it_says():
    assert active(inputs("a fox", "1")) == "s"
    assert active(inputs("a fox", "1", "x", "2")) == ""
    assert active(inputs("x", "a fox")) == "", "no reply was requested with it"


def test_a_message_of_the_user_is_the_draft_typed_or_stored():
    assert active(inputs("a fox", "1", "x", draft="")) == active(inputs("a fox", "1"))


def test_another_version_of_a_message_has_its_own_timers():
    assert active(inputs("a wolf", "1")) == ""
    assert active(inputs("a fox", "another 1")) == "s"


def test_an_opening_of_the_assistant_is_no_reply():
    book = replace(STICKY, entries=(replace(STICKY.entries[0], constant=True, cooldown=9),))
    history = (Message.of("assistant", "a fox", "0"),)
    assert with_lore_timers(replace(inputs(book=book), history=history)).chat.timers == ()


def test_a_cooldown_follows():
    book = replace(STICKY, entries=(replace(STICKY.entries[0], sticky=0, cooldown=4),))
    assert active(inputs("a fox", "1", draft="a fox", book=book)) == ""
    assert active(inputs("a fox", "1", "a fox", "2", draft="a fox", book=book)) == "s"


def test_recursion_from_an_entry_without_timers_begins_one():
    book = replace(STICKY, entries=(*STICKY.entries, LorebookEntry("r", "the fox", ("den",))))
    assert active(inputs("a den", "1", book=book)) == "s"


def test_an_imported_chat_brings_its_timers():
    timers = (LoreTimer("b", "s", "sticky", 3, 9),)
    history = chat("x", "y", "x", "y")
    marked = replace(history[-1], about=About(lore_timers=timers))
    request = replace(inputs(), history=(*history[:-1], marked))
    assert active(request) == "s"
    assert active(replace(request, history=prefilled_history(request.history), draft="")) == "s"
    none = replace(marked, about=About(lore_timers=()))
    request = replace(inputs(), history=(*chat("a fox", "y"), *history[2:-1], none))
    assert with_lore_timers(request).chat.timers == ()


def test_the_past_is_not_drawn_again():
    entries = tuple(
        LorebookEntry(str(n), "S", ("fox",), probability=50, sticky=2) for n in range(30)
    )
    book = replace(STICKY, entries=entries)
    sent = replace(inputs(draft="a fox", book=book), session_seed=5, seed=1)
    request = replace(inputs("a fox", "1", book=book), session_seed=5, seed=2)
    assert active(sent) != active(replace(sent, session_seed=6))
    timed = {timer.entry for timer in with_lore_timers(request).chat.timers}
    assert timed == set(active(sent).split())


WORDS = st.sampled_from(("fox", "den", "owl", "x"))
ENTRIES = st.lists(
    st.builds(
        LorebookEntry,
        st.integers(0, 99).map(str),
        WORDS,
        st.lists(WORDS, max_size=2).map(tuple),
        constant=st.booleans(),
        sticky=st.sampled_from((0, 0, 1, 3)),
        cooldown=st.sampled_from((0, 0, 2)),
        groups=st.sampled_from(((), ("g",))),
        probability=st.sampled_from((100, 50)),
        delay=st.sampled_from((0, 3)),
    ),
    max_size=4,
    unique_by=lambda entry: entry.id,
)


@given(ENTRIES, st.lists(WORDS, max_size=9), st.integers(0, 9))
def test_timers_are_those_of_all_requests_one_after_the_other(
    entries: list[LorebookEntry], texts: list[str], known: int
):
    request = inputs(*texts, book=Lorebook("b", tuple(entries), token_budget=9))
    with_lore_timers(replace(request, history=request.history[:known]))  # is taken over
    timers: tuple[LoreTimer, ...] = ()
    for at, message in enumerate(request.history):
        if message.role == "assistant":
            chat_then = replace(request.chat, timers=timers)
            then = replace(request, history=request.history[:at], draft="", chat=chat_then)
            timers = timers_after(then)
    assert with_lore_timers(request).chat.timers == timers


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
    history = tuple(Message.of("user", "x", str(number)) for number in range(said))
    request = Inputs(
        ENDPOINT, Preset("p"), history, draft, lorebooks=(BOOK,), chat=ChatSettings(timers=timers)
    )
    found = timers_after(request)
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


def test_a_cooldown_begins_anew_where_a_sticky_entry_ends():
    timers = LoreTimer("b", "both", "sticky", 4, 6), LoreTimer("b", "both", "cooldown", 4, 8)
    assert after(5, "a fox", *timers) >= {("both", "cooldown", 6, 10)}


def test_timers_of_entries_that_have_none_do_not_hold():
    sticky = LoreTimer("b", "none", "sticky", 3, 9)
    assert active(replace(inputs(), lorebooks=(BOOK,), chat=ChatSettings(timers=(sticky,)))) == ""
