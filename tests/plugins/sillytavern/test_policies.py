"""The policies of presets that come from SillyTavern, a rule each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from tests.support.contexts import (
    A1,
    A2,
    ENDPOINT,
    HISTORY,
    LETTERS,
    U1,
    U2,
    built,
    order,
    said,
)
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build
from tui_chat.context.generation import as_continuation, continued_text
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level
from tui_chat.models.generation import (
    NO_CHAT_SETTINGS,
    ChatSettings,
)
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import About, Message, with_content
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.role import Character, DepthPrompt, Profile, Role
from tui_chat.models.settings import AuthorNote, Injection, LoreRules, LoreTimer, TextScript
from tui_chat.models.text import OriginKind
from tui_chat.plugins.sillytavern.policies import Policies, policy_values
from tui_chat.tokens import counter_for

JOINED = Policies(
    depths="joined",
    budget="history_with_injections",
    without_anchor="not_sent",
    names="other_speakers",
    expand_history=True,
    example_separator="[Example]",
    continue_nudge="[Go on: {{lastChatMessage}}]",
    impersonation_prompt="[Speak as {{user}}.]",
)
MAIN = PresetMessage("main", content="Play {{char}}.", card_field="system_prompt")
LORE = PresetMessage("worldInfoBefore", content="<{{worldInfoBefore}}>", requires="worldInfoBefore")
EXAMPLES = PresetMessage("dialogueExamples", type="example_dialogues")
NEW_CHAT = PresetMessage(
    "newChat", content="[New]", anchor_point="before", anchor_target=CHAT_HISTORY
)
CHAT = PresetMessage("chatHistory", "user", type="chat_history")
END = PresetMessage("jailbreak", content="Be brief.", card_field="post_history")
LISTED = (MAIN, LORE, EXAMPLES, NEW_CHAT, CHAT, END)
TALK = (
    Message.of("assistant", "a1", "1"),
    Message.of("user", "u1", "2"),
    Message.of("assistant", "a2", "3"),
)
CARD = Character(
    description="A baker.", example_dialogues="<START>\n{{user}}: Hot?\n{{char}}: Very."
)


def deep(name: str, depth: int, role: Any = "system", order: int = 0) -> PresetMessage:
    if depth:
        return PresetMessage(name, role, name, insertion_point=-depth, order=order)
    return PresetMessage(
        name, role, name, anchor_point="after", anchor_target=CHAT_HISTORY, order=order
    )


def request(
    *messages: PresetMessage,
    policies: Policies = JOINED,
    card: Character = CARD,
    chat: ChatSettings | None = None,
    **more: Any,
) -> ChatEnvelope:
    preset = Preset(
        "p", messages or LISTED, system_placement="in_place", policies=policy_values(policies)
    )
    inputs = Inputs(
        ENDPOINT,
        preset,
        TALK,
        "u2",
        role=Role("r", "Ada", character=card),
        profile=Profile("Bo", "Bo is tall."),
        settings=SessionSettings(model="gpt-4o"),
        chat=chat or NO_CHAT_SETTINGS,
    )
    return build(replace(inputs, **more), counter_for)


def noted(note: AuthorNote) -> SessionSettings:
    return SessionSettings(model="gpt-4o", author_note=note)


def shown(envelope: ChatEnvelope) -> list[str]:
    return [f"{turn.role[0]} {turn.text.plain}" for turn in envelope.turns]


WHOLE = [
    *("s Play Ada.", "s [Example]", "s Hot?", "s Very.", "s [New]"),
    *("a a1", "u u1", "a a2", "u u2", "s Be brief."),
]


def test_the_parts_stand_in_the_order_of_the_list():
    envelope = request()
    assert shown(envelope) == WHOLE
    assert [turn.name for turn in envelope.turns[2:4]] == ["example_user", "example_assistant"]
    origins = {turn.text.spans[0].origin.outermost.label for turn in envelope.turns[2:4]}
    assert origins == {"example dialogues of the character “Ada”"}


@each_row(
    ("sentence", "messages", "expected"),
    [
        ("depth 0 is after the draft, 1 before it", [deep("x", 0), deep("y", 1)],
         "a1 u1 a2 y u2 x"),
        ("equal depth, order and role are one message", [deep("x", 1), deep("y", 1)],
         "a1 u1 a2 x\ny u2"),
        ("roles are sorted", [deep("s", 1), deep("u", 1, "user"), deep("a", 1, "assistant")],
         "a1 u1 a2 a u s u2"),
        ("the lower order is higher up", [deep("x", 1, order=5), deep("y", 1, order=-5)],
         "a1 u1 a2 y x u2"),
        ("beyond the oldest message the deepest is first", [deep("x", 8), deep("y", 9)],
         "y x a1 u1 a2 u2"),
        ("only the whole is stripped",
         [replace(deep("x", 1), content=" x "), replace(deep("y", 1), content=" y ")],
         "a1 u1 a2 x \n y u2"),
    ],
)  # fmt: skip
def test_messages_at_depths(sentence: str, messages: list[PresetMessage], expected: str):
    texts = [turn.text.plain for turn in request(CHAT, *messages).turns]
    assert " ".join(texts) == expected, sentence


def test_joined_messages_keep_their_origins():
    turn = request(CHAT, deep("x", 1), deep("y", 1)).turns[3]
    assert [(span.text, span.origin.id) for span in turn.text.spans] == [
        ("x", "x"),
        ("\n", ""),
        ("y", "y"),
    ]


def test_the_sessions_texts_follow_the_presets_sorted_by_name():
    card = replace(CARD, depth_prompt=DepthPrompt("card", 1))
    injections = (Injection("b", "two", 1), Injection("a", "one", 1))
    settings = replace(noted(AuthorNote("note", depth=1)), injections=injections)
    envelope = request(deep("own", 1), CHAT, card=card, settings=settings)
    assert shown(envelope)[3] == "s own\nnote\ncard\none\ntwo"


@each_row(
    ("note", "expected"),
    [
        (AuthorNote("N", placement="before_main"), ["s N", "s Play Ada."]),
        (AuthorNote("N", placement="after_main"), ["s Play Ada.", "s N"]),
        (AuthorNote("N", placement="after_main", interval=2, role="user"), ["s Play Ada.", "u N"]),
        (AuthorNote("N", placement="after_main", interval=3), ["s Play Ada."]),
        (AuthorNote("N", placement="after_main", interval=0), ["s Play Ada."]),
    ],
)
def test_the_authors_note_beside_the_main_prompt(note: AuthorNote, expected: list[str]):
    settings = noted(note)
    assert shown(request(MAIN, CHAT, settings=settings))[: len(expected)] == expected
    assert len(request(MAIN, CHAT, settings=settings).turns) == len(expected) + 4
    disabled = shown(request(replace(MAIN, enabled=False), CHAT, settings=settings))
    assert disabled[: len(expected) - 1] == [e for e in expected if "Play" not in e]


def test_a_note_beside_a_missing_main_prompt_is_not_sent():
    envelope = request(CHAT, settings=noted(AuthorNote("N", placement="after_main")))
    assert len(envelope.turns) == 4
    assert "unknown-anchor" in [note.code for note in envelope.notes]


def test_a_card_replaces_prompts():
    card = replace(CARD, system_prompt="Card. {{original}} {{original}}", post_history="End.")
    assert shown(request(MAIN, CHAT, END, card=card))[0] == "s Card. Play Ada. "
    envelope = request(MAIN, CHAT, END, card=card)
    assert shown(envelope)[-1] == "s End."
    assert [span.origin.kind for span in envelope.turns[0].text.spans][:2] == [
        OriginKind.SYSTEM,
        OriginKind.PRESET,
    ]
    own = replace(JOINED, card_prompts=())
    assert shown(request(MAIN, CHAT, card=card, policies=own))[0] == "s Play Ada."


def test_a_field_of_a_card_may_contain_another_one_and_the_profile():
    card = replace(CARD, description="{{char}}: {{scenario}}{{persona}}.", scenario="Rome")
    message = PresetMessage("d", content="{{description}}", requires="description")
    assert shown(request(message, CHAT, card=card))[0] == "s Ada: RomeBo is tall.."


@each_row(
    ("policy", "expected"),
    [
        ("field", [("Zed", "a1"), ("", "u1")]),
        ("none", [("", "a1"), ("", "u1")]),
        ("other_speakers", [("", "Zed: a1"), ("", "u1")]),
        ("name", [("Zed", "a1"), ("Bo", "u1")]),
        ("content", [("", "Zed: a1"), ("", "Bo: u1")]),
    ],
)
def test_names(policy: Any, expected: list[tuple[str, str]]):
    chosen = About(is_speaker_chosen=True)
    history = (replace(TALK[0], name="Zed", about=chosen), TALK[1])
    turns = request(CHAT, policies=replace(JOINED, names=policy), history=history, draft="").turns
    assert [(turn.name, turn.text.plain) for turn in turns] == expected


def test_names_have_only_the_characters_that_openai_takes():
    history = (replace(TALK[0], name="Zoë & Co"),)
    turns = request(CHAT, policies=replace(JOINED, names="name"), history=history).turns
    assert turns[0].name == "Zo____Co"


def test_squashing_leaves_separators_and_names_alone():
    envelope = request(
        MAIN,
        replace(END, content="More."),
        EXAMPLES,
        NEW_CHAT,
        deep("x", 9),
        CHAT,
        policies=replace(JOINED, squash_system=True),
    )
    assert shown(envelope)[:6] == [
        *("s Play Ada.\nMore.", "s [Example]", "s Hot?", "s Very.", "s [New]", "s x"),
    ]


@each_row(
    ("how", "expected"),
    [
        ("merge", ["s Play Ada.\n\n[Example]\n\nBo: Hot?\n\nAda: Very.\n\n[New]", "a a1", "u u1",
                   "a a2", "u u2", "s Be brief."]),
        ("semi", ["s Play Ada.\n\n[Example]\n\nBo: Hot?\n\nAda: Very.\n\n[New]", "a a1", "u u1",
                  "a a2", "u u2\n\nBe brief."]),
        ("strict", ["s Play Ada.\n\n[Example]\n\nBo: Hot?\n\nAda: Very.\n\n[New]",
                    "u [Start a new chat]", "a a1", "u u1", "a a2", "u u2\n\nBe brief."]),
        ("single", ["u Play Ada.\n\n[Example]\n\nBo: Hot?\n\nAda: Very.\n\n[New]\n\nAda: a1\n\n"
                    "Bo: u1\n\nAda: a2\n\nBo: u2\n\nBe brief."]),
    ],
)  # fmt: skip
def test_post_processing(how: Any, expected: list[str]):
    assert shown(request(policies=replace(JOINED, post_processing=how))) == expected


@each_row(
    ("kind", "expected"),
    [
        ("continue", ["a a1", "u u1", "s x", "s Be brief.", "a a2", "s [Go on: a2]"]),
        ("impersonate", ["a a1", "u u1", "a a2", "s x", "s Be brief.", "s [Speak as Bo.]"]),
        ("quiet", ["a a1", "u u1", "a a2", "s x", "s Be brief.", "s Sum up, Bo."]),
    ],
)
def test_the_kinds_of_generation(kind: Any, expected: list[str]):
    chat = ChatSettings(kind, prompt="Sum up, {{user}}.")
    assert shown(request(CHAT, deep("x", 0), END, chat=chat, draft="")) == expected


def test_continue_by_the_message_alone_counts_depths_without_it():
    policies = replace(JOINED, continue_prefill=True)
    chat = ChatSettings("continue")
    envelope = request(CHAT, deep("x", 1), END, chat=chat, draft="", policies=policies)
    assert shown(envelope) == ["a a1", "s x", "u u1", "s Be brief.", "a a2"]


@each_row("protocol", Protocol)
@each_row("kind", ["continue", "impersonate", "quiet"])
def test_a_request_for_something_else_stays_at_the_end_in_each_protocol(
    protocol: Protocol, kind: Any
):
    # Anthropic and Gemini would move a system message to the top.
    chat = ChatSettings(kind, prompt="Sum up.")
    endpoint = Endpoint("here", protocol, "https://here.invalid", models=("m",))
    last = request(CHAT, endpoint=endpoint, chat=chat, draft="").turns[-1]
    hoists = protocol in (Protocol.ANTHROPIC, Protocol.GEMINI)
    assert last.role == ("user" if hoists else "system")


def test_triggers_limit_a_message_to_kinds():
    message = replace(END, triggers=("impersonate", "quiet"))
    assert len(request(CHAT, message).turns) == 4
    assert shown(request(CHAT, message, chat=ChatSettings("quiet")))[-1] == "s Be brief."


# --- the budget ----------------------------------------------------------------------------


def with_room(tokens: int, **more: Any) -> ChatEnvelope:
    """A request with so many tokens besides the three that prime the reply."""
    return request(context_limit=tokens + 3, reply_reserve=0, **more)


def cost(text: str, name: str = "") -> int:
    count = counter_for("gpt-4o").count
    return count(text) + 5 + (count(name) + 1 if name else 0)


FIXED = cost("Play Ada.") + cost("Be brief.") + cost("[New]")
TALKED = [cost(text) for text in ("u2", "a2", "u1", "a1")]
EXAMPLE = cost("[Example]") + cost("Hot?", "example_user") + cost("Very.", "example_assistant")


@each_row("kept", range(5))
def test_the_newest_messages_that_fit_are_kept(kept: int):
    envelope = with_room(FIXED + sum(TALKED[:kept]))
    assert shown(envelope) == [
        *("s Play Ada.", "s [New]"),
        *["a a1", "u u1", "a a2", "u u2"][4 - kept :],
        "s Be brief.",
    ]
    if kept:
        assert envelope.budget is not None
        assert envelope.budget.free == 0
    one_less = with_room(FIXED + sum(TALKED[:kept]) - 1)
    assert len(one_less.turns) == len(envelope.turns) - 1


def test_examples_get_what_the_conversation_leaves():
    assert shown(with_room(FIXED + sum(TALKED) + EXAMPLE)) == WHOLE
    less = with_room(FIXED + sum(TALKED) + EXAMPLE - 1)
    assert "s [Example]" not in shown(less)
    assert "examples-dropped" in [note.code for note in less.notes]
    pinned = replace(JOINED, pin_examples=True)
    envelope = with_room(FIXED + TALKED[0] + EXAMPLE, policies=pinned)
    assert shown(envelope)[1:6] == ["s [Example]", "s Hot?", "s Very.", "s [New]", "u u2"]


def test_a_long_injection_blocks_what_is_older():
    injections = (Injection("x", "word " * 50, 1),)
    settings = SessionSettings(model="gpt-4o", injections=injections)
    envelope = with_room(FIXED + sum(TALKED) + 20, settings=settings)
    assert shown(envelope)[-3:] == ["s [New]", "u u2", "s Be brief."]
    assert "injections-dropped" in [note.code for note in envelope.notes]


def test_if_a_prompt_does_not_fit_nothing_after_it_is_sent_and_a_note_says_so():
    envelope = with_room(cost("Play Ada."))
    assert shown(envelope) == ["s Play Ada."]
    assert [note.code for note in envelope.notes if note.level is Level.ERROR] == ["over-budget"]


def test_a_pinned_message_is_kept():
    history = (replace(TALK[0], pinned=True), *TALK[1:])
    envelope = with_room(FIXED + sum(TALKED[:2]) + TALKED[3], history=history)
    assert shown(envelope)[2:5] == ["a a1", "a a2", "u u2"]


# --- lore ----------------------------------------------------------------------------------


def entry(name: str, *keys: str, **more: Any) -> LorebookEntry:
    fields = {"position": "before_character", "content": name, "constant": not keys, **more}
    return LorebookEntry(name, keys=keys, **fields)


def lore(*entries: LorebookEntry, rules: LoreRules | None = None, **more: Any) -> str:
    """The lore before the character, in a request that speaks of `u2`."""
    settings = SessionSettings(model="gpt-4o", lore=rules or LoreRules(names=True))
    books = (Lorebook("b", entries, recursive=False),)
    more = {"lorebooks": books, "settings": settings, **more}
    texts = shown(request(LORE, CHAT, **more))
    return texts[0].removeprefix("s <").removesuffix(">") if texts[0][2] == "<" else ""


def test_lore_is_joined_at_its_place():
    low, high = entry("low", order=1), entry("high", order=9)
    assert lore(high, low, entry("same", order=1)) == "same\nlow\nhigh"
    envelope = request(LORE, CHAT, lorebooks=(Lorebook("b", (low, high)),))
    kinds = [span.origin.kind for span in envelope.turns[0].text.spans]
    assert kinds.count(OriginKind.LORE) == 2


@each_row(
    ("sentence", "one", "expected"),
    [
        ("a name is found", entry("x", "bo"), "x"),
        ("a kind of generation", entry("x", triggers=("swipe",)), ""),
        ("another role", entry("x", characters=("Zed",)), ""),
        ("this role is excluded", entry("x", characters=("Ada",), characters_excluded=True), ""),
        ("too few messages", entry("x", delay=5), ""),
        ("enough messages", entry("x", delay=4), "x"),
        ("a source", entry("x", "baker", sources=("description",)), "x"),
        ("no source", entry("x", "baker"), ""),
        ("recursion only, on its first level too", entry("x", delay_until_recursion=2), ""),
    ],
)  # fmt: skip
def test_conditions(sentence: str, one: LorebookEntry, expected: str):
    assert lore(one) == expected, sentence


def test_of_a_group_one_entry_is_sent():
    entries = [entry(name, groups=("g",), order=n) for n, name in enumerate("abc")]
    assert lore(*entries) in ("a", "b", "c")
    drawn = {lore(*entries, session_seed=seed) for seed in range(30)}
    assert drawn == {"a", "b", "c"}
    override = [replace(each, group_override=True) for each in entries]
    assert lore(*override) == "c"
    scored = [entry("x", "u2", "bo", groups=("g",)), entry("y", "u2", groups=("g",))]
    assert lore(*scored, rules=LoreRules(names=True, group_scoring=True)) == "x"


def test_sticky_entries_stay_and_others_pause():
    timer = LoreTimer("b", "x", "sticky", 2, 6)
    sticky = entry("x", "absent", sticky=4)
    assert lore(sticky, chat=ChatSettings(timers=(timer,))) == "x"
    assert lore(sticky, chat=ChatSettings(timers=(replace(timer, end=4),))) == ""
    assert lore(sticky, chat=ChatSettings(timers=(replace(timer, start=4),))) == ""
    pause = replace(timer, kind="cooldown")
    assert lore(entry("x", "u2", cooldown=4), chat=ChatSettings(timers=(pause,))) == ""
    assert lore(entry("x", "u2"), chat=ChatSettings(timers=(pause,))) == "x", "it has no cooldown"


def test_the_sessions_budget_ends_the_search():
    entries = [entry(f"{name} " + "word " * 10, order=9 - n) for n, name in enumerate("ab")]
    both = lore(*entries)
    assert both.startswith("b ")
    limit = counter_for("gpt-4o").count(f"{entries[0].content}\n") + 7
    assert lore(*entries, rules=LoreRules(token_budget=limit)).startswith("a ")
    assert lore(*entries, rules=LoreRules(token_budget=limit - 1)) == ""
    free = replace(entries[1], ignore_budget=True)
    assert lore(entries[0], free, rules=LoreRules(token_budget=1)).startswith("b ")


def test_more_messages_are_searched_until_enough_entries_are_active():
    assert lore(entry("x", "a1")) == ""
    assert lore(entry("x", "a1"), rules=LoreRules(min_activations=1)) == "x"
    narrow = LoreRules(min_activations=1, min_activations_depth=2)
    assert lore(entry("x", "a1"), rules=narrow) == ""


def test_lore_at_other_places():
    entries = (
        entry("top", position="note_top"),
        entry("bottom", position="note_bottom"),
        entry("deep", position="depth", insertion_point=-4),
        entry("<START>\nBo: Lore?", position="examples_top"),
        entry("first", position="outlet", outlet="o", order=1),
        entry("second", position="outlet", outlet="o", order=2),
    )
    message = PresetMessage("m", content="[{{outlet::o}}]")
    envelope = request(message, EXAMPLES, CHAT, lorebooks=(Lorebook("b", entries),))
    texts = shown(envelope)
    assert texts[:4] == ["s [second\nfirst]", "s [Example]", "s Lore?", "s [Example]"]
    assert "s top\n\nbottom\ndeep" in texts


# --- the conversation ----------------------------------------------------------------------


def test_macros_in_the_conversation_are_expanded():
    history = (Message.of("assistant", "I am <BOT>, {{user}}.\r\n", "1"), *TALK[1:])
    envelope = request(CHAT, history=history, draft="Hi {{char}}")
    assert shown(envelope)[0] == "a I am Ada, Bo.\n"
    assert shown(envelope)[-1] == "u Hi Ada"
    own = request(CHAT, history=history, draft="Hi {{char}}", policies=Policies())
    assert shown(own)[0] == "a I am <BOT>, {{user}}.\r\n"


def test_scripts_change_what_is_sent():
    scripts = (
        TextScript("s", "/U(\\d)/gi", "you $1", ("user",), max_depth=0),
        TextScript("t", "(?<l>a)1", "[$<l>]", ("assistant",)),
    )
    envelope = request(CHAT, settings=SessionSettings(model="gpt-4o", scripts=scripts))
    assert shown(envelope) == ["a [a]", "u u1", "a a2", "u you 2"]


def test_without_an_anchor_no_conversation_is_sent():
    assert shown(request(MAIN, deep("x", 1))) == ["s Play Ada."]
    last = replace(JOINED, without_anchor="last")
    assert len(request(MAIN, policies=last).turns) == 5


def test_a_message_that_is_continued_has_no_name():
    policies = replace(JOINED, names="name")
    turns = request(CHAT, chat=ChatSettings("continue"), draft="", policies=policies).turns
    assert [turn.name for turn in turns] == ["Ada", "Bo", "", ""]
    policies = replace(policies, continue_prefill=True)
    turns = request(CHAT, chat=ChatSettings("continue"), draft="", policies=policies).turns
    assert [turn.name for turn in turns] == ["Ada", "Bo", "Ada"]


def test_names_go_into_the_text_when_messages_are_merged():
    policies = replace(JOINED, names="name", post_processing="single")
    envelope = request(CHAT, policies=policies, history=(replace(TALK[0], name="Z"),))
    assert shown(envelope) == ["u Ada: Z: a1\n\nBo: u2"]
    empty = request(CHAT, policies=replace(JOINED, post_processing="merge"), history=(), draft="")
    assert shown(empty) == ["u [Start a new chat]"]


CLAUDE = Endpoint("there", Protocol.ANTHROPIC, "https://there.invalid", models=("m",))


@each_row(
    ("kind", "last"),
    [
        *(("normal", "a Well,"), ("regenerate", "a Well,"), ("impersonate", "a Hm,")),
        ("quiet", "u Sum up."),
    ],
)
def test_a_prefill_ends_requests_to_anthropic_alone(kind: Any, last: str):
    policies = replace(JOINED, assistant_prefill="Well,", assistant_impersonation="Hm,")
    chat = ChatSettings(kind=kind, prompt="Sum up.")
    assert shown(request(policies=policies, chat=chat, endpoint=CLAUDE))[-1] == last
    assert not {"a Well,", "a Hm,"} & set(shown(request(policies=policies, chat=chat)))


def test_system_messages_are_the_users_where_protocols_take_them_apart():
    policies = replace(JOINED, system_as_user=True)
    turns = request(policies=policies, endpoint=CLAUDE).turns
    assert {turn.role for turn in turns} == {"user", "assistant"}
    with_names = ["Play Ada.", "[Example]", "Bo: Hot?", "Ada: Very.", "[New]"]
    assert [turn.text.plain for turn in turns][:5] == with_names
    assert [turn.text.plain for turn in turns][5:] == [line[2:] for line in WHOLE[5:]]
    assert shown(request(policies=policies)) == WHOLE


def test_later_system_messages_are_the_users_where_protocols_take_them_apart():
    first, *_, last = request(policies=JOINED, endpoint=CLAUDE).turns
    assert (first.role, last.role, last.text.plain) == ("system", "user", "Be brief.")


def test_the_prompt_of_a_plain_role_goes_where_the_description_goes() -> None:
    """A preset of SillyTavern decides the whole request; what it has no place for has a note."""
    policies = replace(JOINED, role_prompt="description")
    place = said("<{{description}}>", id="it")
    role = Role("r", "Coder", "{{char}} codes. {{persona}}")
    profile = Profile("Ada", "Calm.", "none")
    placed = built(
        said("A"), place, HISTORY, policies=policy_values(policies), role=role, profile=profile
    )
    assert order(placed).split()[:3] == ["A", "<Coder", "codes."]
    assert not any(note.code == "role-prompt-skipped" for note in placed.notes)
    skipped = built(said("A"), HISTORY, policies=policy_values(policies), role=role)
    assert order(skipped).split()[0] == "A"
    assert "codes" not in order(skipped)
    (note,) = (note for note in skipped.notes if note.code == "role-prompt-skipped")
    assert "“Coder”" in note.sentence
    off = built(replace(place, enabled=False), HISTORY, policies=policy_values(policies), role=role)
    assert any(note.code == "role-prompt-skipped" for note in off.notes)
    first = built(said("A"), HISTORY, policies=policy_values(JOINED), role=role)
    assert "codes" in order(first)


@each_row(
    ("facts", "wanted", "expected"),
    [
        (None, None, "U1 A1 U2 D! AFTER A2 NUDGE"),
        (True, None, "U1 A1 U2 D! AFTER A2"),
        (True, False, "U1 A1 U2 D! AFTER A2 NUDGE"),
        (None, True, "U1 A1 U2 D! AFTER A2"),
        (False, True, "U1 A1 U2 D! AFTER A2 NUDGE"),
    ],
)
def test_continue_ends_with_the_reply_and_a_nudge_unless_the_model_takes_a_prefill(
    facts: bool | None, wanted: bool | None, expected: str
):
    policies = Policies(continue_nudge="NUDGE", continue_prefill=wanted)
    endpoint = replace(ENDPOINT, facts=(("*", ModelFacts(prefill=facts)),))
    preset = Preset("p", (HISTORY, said("D!", insertion_point=-1), said("AFTER")))
    inputs = Inputs(endpoint, replace(preset, policies=policy_values(policies)), (U1, A1, U2, A2))
    envelope = build(as_continuation(inputs), lambda _: LETTERS)
    assert order(envelope) == expected
    nudged = expected.endswith("NUDGE")
    assert envelope.turns[-1].role == ("user" if nudged else "assistant")
    assert continued_text(as_continuation(inputs)) == ("A2 " if nudged else "A2")
    assert envelope.budget is not None
    assert sum(envelope.tokens) <= envelope.budget.total


@each_row("postfix", ["", " ", "\n"])
def test_a_continuation_is_joined_as_the_preset_says(postfix: str):
    policies = Policies(continue_postfix=postfix)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,), policies=policy_values(policies)), (U1, A1))
    assert continued_text(as_continuation(inputs)) == f"A1{postfix}"
    spaced = replace(inputs, history=(U1, with_content(A1, "A1 ")))
    assert continued_text(as_continuation(spaced)) == "A1 "


def test_a_preset_says_whose_scripts_are_run():
    own, card = TextScript("p", "/a/g", "b", ("user",)), TextScript("c", "/b/g", "c", ("user",))
    stored = TextScript("s", "/^/", "a", ("user",), is_stored=True)
    role = Role("r", "Rook", character=Character(scripts=(card, stored)))

    def sent(*whose: Literal["preset", "card"]) -> list[str]:
        preset = Preset(
            "p", (HISTORY,), policies=policy_values(Policies(scripts=whose)), scripts=(own,)
        )
        history = (Message.of("user", "{{a}}", "1"), Message.of("assistant", "a", "2"))
        inputs = Inputs(ENDPOINT, preset, history, "a", role=role)
        return [turn.text.plain for turn in build(inputs, lambda _: LETTERS).turns]

    assert sent() == ["{{a}}", "a", "a"]
    assert sent("preset") == ["{{b}}", "a", "b"]
    assert sent("preset", "card") == ["c{{c}}", "a", "cc"]
