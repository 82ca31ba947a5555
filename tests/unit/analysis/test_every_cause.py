"""A walk over every sentence of the cache forecast: two requests that make it true, and two close
to them that must not show it. Shown in the inspector, in the tap and as JSON.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from tests.support.tables import each_row
from tests.unit.analysis.test_cache_forecast import HISTORY, composed, forecast, talk
from tui_chat.analysis.cache_forecast import BreakKind
from tui_chat.compose import Composed
from tui_chat.models.preset import PresetMessage
from tui_chat.models.semantics import SessionSemantics
from tui_chat.tokens import REQUEST_OVERHEAD
from tui_chat.ui.areas.inspector.summary import forecast_sentences, forecast_versus_usage

TALK = talk("a", "b")


def line(name: str, content: str = "") -> PresetMessage:
    return PresetMessage(name, role="user", content=content or f"({name})", name=name)


A, B, C = map(line, "ABC")


def sent(*lines: PresetMessage, draft: str = "x") -> Composed:
    return composed(TALK, draft, *lines, HISTORY)


def kept(request: Composed) -> Composed:
    session = SessionSemantics("resp_1")
    semantics = replace(request.envelope.semantics, session=session)
    return replace(request, envelope=replace(request.envelope, semantics=semantics))


def elsewhere(request: Composed) -> Composed:
    return replace(request, endpoint=replace(request.endpoint, name="elsewhere"))


SAME = (sent(A), sent(A))
OTHER_CACHE = "The last request went to another model or endpoint, which has its own cache."
KEPT = "The provider keeps earlier messages, so that what its cache serves is not known."
WALK: dict[
    str, list[tuple[tuple[Composed | None, Composed], tuple[Composed | None, Composed], str]]
] = {
    "first": [
        ((None, sent(A)), SAME, "There is no earlier request of this session to compare with.")
    ],
    "model": [
        ((composed(TALK, "x", A, HISTORY, model="n"), sent(A)), SAME, OTHER_CACHE),
        ((elsewhere(sent(A)), sent(A)), SAME, OTHER_CACHE),
    ],
    "kept": [
        ((sent(A), kept(sent(B))), (sent(A), sent(B)), KEPT),
        ((kept(sent(A)), sent(B)), (sent(A), sent(B)), KEPT),
    ],
    "grown": [
        (SAME, (sent(A), sent(B)), "It begins with the whole last request."),
        (
            (sent(A), composed(talk("a", "b", "x", "y"), "z", A, HISTORY)),
            (sent(A), composed(talk("a", "b", "w", "y"), "z", A, HISTORY)),
            "It begins with the whole last request.",
        ),
    ],
    "moved": [
        ((sent(A, B), sent(B, A)), (sent(A, B), sent(A, B)), "Preset message “B” has moved: "),
    ],
    "changed": [
        ((sent(A), sent(line("A", "(a)"))), SAME, "Preset message “A” has changed: "),
        (
            (sent(A), sent(A, draft="y")),
            SAME,
            "The draft has changed: ",
        ),
    ],
    "added": [
        ((sent(A), sent(B, A)), (sent(B, A), sent(A)), "Preset message “B” was added: "),
    ],
    "gone": [
        ((sent(B, A), sent(A)), (sent(A), sent(B, A)), "Preset message “B” was removed: "),
        (
            (sent(A), sent(A, draft="")),
            (sent(A, draft=""), sent(A)),
            "The draft was removed; the rest is unchanged.",
        ),
    ],
    "other": [
        ((sent(A), sent(C)), SAME, "Preset message “A” and the following text differ: "),
    ],
}
STATES = [(kind, *state) for kind, states in WALK.items() for state in states]


@each_row(("kind", "shows", "silent", "sentence"), STATES)
def test_a_cause_is_shown_where_it_is_true_and_nowhere_else(
    kind: str,
    shows: tuple[Composed | None, Composed],
    silent: tuple[Composed | None, Composed],
    sentence: str,
) -> None:
    found, other = forecast(*shows), forecast(*silent)
    assert found.at.kind == kind
    if sentence.endswith(": "):
        assert found.at.sentence.startswith(f"{sentence}{found.after:,} token")
        assert found.after == found.total - found.common - REQUEST_OVERHEAD
    else:
        assert found.at.sentence == sentence
    assert sentence not in other.at.sentence


def test_the_walk_has_every_kind() -> None:
    assert set(WALK) == set(get_args(BreakKind))


@each_row(("kind", "shows"), [state[:2] for state in STATES])
def test_figures_compare_with_a_request_that_there_is(
    kind: str, shows: tuple[Composed | None, Composed]
) -> None:
    assert ("those of the last request." in forecast_sentences(forecast(*shows))) is (
        kind not in ("first", "model", "kept")
    )


def test_what_a_reply_reports_is_told_from_what_it_does_not() -> None:
    found = forecast(*SAME)
    up_to = f"Forecast: up to {found.served:,} tokens from the cache; "
    assert forecast_versus_usage(found, None, 9) == f"{up_to}the reply reports no figure."
    assert forecast_versus_usage(found, 0, 9) == f"{up_to}reported: 0 of 9."
    assert forecast_versus_usage(found, 3, None) == f"{up_to}reported: 3."
