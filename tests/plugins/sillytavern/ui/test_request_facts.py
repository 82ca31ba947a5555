"""What the editor says of a request whose messages are merged, by every policy that merges."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.support.tables import each_row
from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.context.sent_texts import split_turn, with_shares
from tui_chat.library.editing.outline import outline_preset
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.generation import ChatSettings
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Character, Profile, Role
from tui_chat.models.text import OriginKind
from tui_chat.plugins.sillytavern.policies import Policies, policy_values
from tui_chat.ui.presets.facts import costs, facts_of

ENDPOINT = Endpoint("here", Protocol.OPENAI_CHAT, "https://here.invalid", models=("gpt-4o",))
CARD = Character(
    description="A {{char}} of the north.",
    system_prompt="You are {{char}}. {{original}}",
    example_dialogues="<START>\n{{user}}: Hi.\n{{char}}: Hello.",
)
ROLE = Role("vesna", "Vesna Korhal", character=CARD)
BOOK = Lorebook(
    "Team facts",
    tuple(
        LorebookEntry(name, text, constant=True, position="before_character")
        for name, text in (("rain", "It rains."), ("pool", "The pool is deep."))
    ),
)
MESSAGES = (
    PresetMessage("main", content="Write well.", card_field="system_prompt"),
    PresetMessage("lore", content="{{worldInfoBefore}}", requires="worldInfoBefore"),
    PresetMessage("card", content="She is {{description}}", requires="description"),
    PresetMessage("scene", content="{{scenario}}", requires="scenario"),
    PresetMessage("who", type="user_profile"),
    PresetMessage("examples", type="example_dialogues"),
    PresetMessage("history", type="chat_history"),
    PresetMessage("deep", content="Be kind.", insertion_point=-1),
    PresetMessage("after", content="Go on.", card_field="post_history"),
    PresetMessage("style", content="{{setvar::style::terse}}{{setvar::pov::she}}"),
    PresetMessage("later", content="Only then.", triggers=("continue",)),
)
TALK = (Message.of("user", "How are you?", "1"), Message.of("assistant", "Well.", "2"))
MERGING = [
    Policies(
        depths="joined",
        squash_system=squash,
        post_processing=how,
        role_prompt="description",
        expand_history=True,
    )
    for squash, how in product((False, True), ("", "merge", "semi", "strict", "single"))
]


def request(policies: Policies, **inputs: Any) -> Composed:
    given: dict[str, Any] = {
        "history": TALK,
        "draft": "And now?",
        "role": ROLE,
        "lorebooks": (BOOK,),
        "profile": Profile("Ada", "Ada likes rain."),
        **inputs,
    }
    preset = Preset("p", MESSAGES, system_placement="in_place", policies=policy_values(policies))
    return compose(Inputs(ENDPOINT, preset, **given))


@each_row("policies", MERGING)
def test_merged_messages_keep_their_tokens_and_what_fills_them(policies: Policies) -> None:
    composed = request(policies)
    facts = facts_of(composed)
    assert facts.why == {
        "scene": "“scenario” has no value",
        "style": "sets style, pov",
        "later": "only on continue",
    }
    tokens = costs(outline_preset(composed.inputs.preset).rows, facts)  # type: ignore[union-attr]
    shown = {each.id: tokens.get(index, 0) for index, each in enumerate(MESSAGES)}
    sent = {"lore", "card", "deep", "after"}  # the card has a prompt of its own in place of main
    assert {name for name, count in shown.items() if count} == sent
    assert facts.profile[0] == "Ada"
    assert facts.profile[1] > 0
    chat = facts.chat
    assert chat.answered is not None
    assert chat.answered.text.plain.removeprefix("Ada: ") == "And now?"  # a policy adds the name
    assert chat.is_typed
    assert [turn.origin.id for turn in chat.history] == ["1", "2"]
    known = sum(map(sum, facts.sent.values())) + facts.profile[1] + facts.answered_tokens
    assert known + sum(facts.turn_tokens) <= sum(composed.envelope.tokens)
    assert not any(note.origin and note.origin.id == "style" for note in composed.notes)


@each_row("policies", MERGING)
def test_a_stored_question_among_merged_messages_is_the_draft(policies: Policies) -> None:
    facts = facts_of(request(policies, draft="", history=(*TALK, Message.of("user", "And?", "3"))))
    chat = facts.chat
    assert chat.answered is not None
    assert (chat.answered.text.plain.removeprefix("Ada: "), chat.is_typed) == ("And?", False)
    assert [turn.origin.id for turn in chat.history] == ["1", "2"]


@each_row("policies", MERGING)
def test_what_is_sent_is_not_among_what_is_not_sent(policies: Policies) -> None:
    composed = request(policies)
    reasons = {m.id: why for m, why in unsent_messages(composed)}
    assert reasons == {
        "scene": "“scenario” has no value",
        "style": "sets style, pov",
        "later": "only on continue",
    }
    kind = request(policies, chat=ChatSettings(kind="continue"), draft="")
    assert "later" not in {m.id for m, _ in unsent_messages(kind)}


def test_a_card_prompt_without_the_original_takes_its_place() -> None:
    role = Role("v", "Vesna", character=Character(system_prompt="You are Vesna."))
    composed = request(Policies(depths="joined"), role=role)
    reasons = {m.id: why for m, why in unsent_messages(composed)}
    assert reasons["main"] == "the system prompt of “Vesna” replaces it"


@each_row("policies", MERGING)
def test_the_messages_of_a_turn_have_all_its_tokens(policies: Policies) -> None:
    envelope = request(policies).envelope
    for turn, tokens in zip(envelope.turns, envelope.tokens, strict=True):
        shares = list(with_shares(turn, tokens))
        assert sum(share for _, share in shares) == tokens
        assert [piece for piece, _ in shares] == list(split_turn(turn))
        kinds = {piece.origin.kind for piece, _ in shares}
        assert not kinds & {OriginKind.MACRO, OriginKind.GLUE}
