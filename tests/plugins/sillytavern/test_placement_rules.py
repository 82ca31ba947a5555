"""The rules of placement of SillyTavern's builder: each said where it is true, and not in a request
close to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.contexts import A1, ENDPOINT, HISTORY, LETTERS, U1, built, rules, said
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.settings import AuthorNote
from tui_chat.plugins.sillytavern.context.post_processing import PLACEHOLDER
from tui_chat.plugins.sillytavern.policies import Policies, policy_values

JOINED = policy_values(Policies(depths="joined"))
EMPTY = policy_values(Policies(send_if_empty="EMPTY"))
STRICT = policy_values(Policies(depths="joined", post_processing="strict"))
MERGED = policy_values(Policies(depths="joined", post_processing="merge"))


def with_note(depth: int) -> ChatEnvelope:
    settings = SessionSettings(author_note=AuthorNote("NOTE", depth))
    return built(HISTORY, settings=settings, policies=JOINED)


def empty(draft: str) -> ChatEnvelope:
    return built(
        HISTORY,
        history=(U1, A1),
        draft=draft,
        policies=EMPTY,
    )


def prefilled(protocol: Protocol) -> ChatEnvelope:
    preset = Preset("p", (HISTORY,), policies=policy_values(Policies(assistant_prefill="START")))
    inputs = Inputs(replace(ENDPOINT, protocol=protocol), preset, (U1,), "D")
    return build(inputs, lambda _: LETTERS)


def processed(**inputs: object) -> ChatEnvelope:
    return built(
        HISTORY,
        policies=STRICT,
        **inputs,
    )


def merged(*lines: PresetMessage) -> ChatEnvelope:
    return built(HISTORY, *lines, policies=MERGED)


RULES: list[tuple[str, str, Callable[[], ChatEnvelope], Callable[[], ChatEnvelope]]] = [
    ("NOTE", "Its depth is after the newest message of the conversation.", lambda: with_note(0),
     lambda: with_note(1)),
    ("NOTE", "Its depth is before the 2 newest messages of the conversation.",
     lambda: with_note(2), lambda: with_note(1)),
    ("EMPTY", "It is sent because nothing is typed.", lambda: empty(""), lambda: empty("EMPTY")),
    ("START", "The preset has it as the beginning of the reply.",
     lambda: prefilled(Protocol.ANTHROPIC), lambda: prefilled(Protocol.OPENAI_CHAT)),
    ("NEW", "It begins the conversation.",
     lambda: built(HISTORY, said("NEW", anchor_point="before"), policies=JOINED),
     lambda: built(HISTORY, said("NEW", anchor_point="before"))),
    (PLACEHOLDER, "The preset's post-processing puts a user message here.",
     lambda: processed(history=(A1,)), lambda: processed(history=(U1,))),
    ("D", "Your draft follows the history. It is sent as one message with 1 after it.",
     lambda: merged(said("NEXT")), lambda: merged()),
]  # fmt: skip


@each_row(("word", "rule", "shows", "silent"), RULES, ids=[row[1] for row in RULES])
def test_a_rule_is_shown_where_it_is_true_and_nowhere_else(
    word: str,
    rule: str,
    shows: Callable[[], ChatEnvelope],
    silent: Callable[[], ChatEnvelope],
):
    assert rule in rules(shows(), word)
    assert rule not in rules(silent(), word)
