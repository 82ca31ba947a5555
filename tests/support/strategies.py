"""Shared hypothesis strategies: values as the program can meet them, ugly ones included."""

from __future__ import annotations

from hypothesis import strategies as st

from tui_chat.models.message import Message
from tui_chat.models.payload import Arr, Lit, Obj, Str, Tree
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.settings import (
    NOTE_ROLES,
    AuthorNote,
    CharacterTexts,
    Injection,
    LoreRules,
    ResponseFormat,
    SearchLocation,
    Settings,
    TextScript,
    ToolChoice,
    WebSearch,
)
from tui_chat.models.text import Origin, OriginKind, Span, Text

any_text = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from('"\\/\n\r\t\x00\x1b\x7f\x85\u2028\u2029\u202e\ufeff😀你好é'),
    ),
    max_size=30,
)

sources = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]), any_text.filter(bool), min_size=1, max_size=4
)
"""Ids of origins and the texts they have."""


@st.composite
def texts(draw: st.DrawFn, source: dict[str, str]) -> Text:
    """A text made of pieces of its sources."""
    spans: list[Span] = []
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(sorted(source)))
        whole = source[name]
        start = draw(st.integers(0, len(whole)))
        end = draw(st.integers(start, len(whole)))
        spans.append(Span(whole[start:end], Origin(OriginKind.PRESET, name), start))
    return Text(spans)


@st.composite
def trees(draw: st.DrawFn, source: dict[str, str]) -> Tree:
    """A JSON tree whose strings are pieces of its sources."""
    literals = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
    )
    leaves = st.one_of(texts(source).map(Str), literals.map(Lit))
    keys = any_text
    return draw(
        st.recursive(
            leaves,
            lambda inner: st.one_of(
                st.lists(inner, max_size=4).map(lambda items: Arr(tuple(items))),
                st.dictionaries(keys, inner, max_size=4).map(
                    lambda items: Obj(tuple(items.items()))
                ),
            ),
            max_leaves=12,
        )
    )


EVERY_SETTING = Settings(
    effort="high",
    reasoning_budget=2048,
    reasoning_summary="auto",
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    max_tokens=2000,
    stop=("END", "\n\n"),
    seed=-7,
    presence_penalty=0.5,
    frequency_penalty=-0.5,
    verbosity="low",
    response_format=ResponseFormat(
        "schema", {"type": "object"}, name="answer", description="An answer", strict=True
    ),
    web_search=WebSearch(
        "low", SearchLocation("Köln", "DE", timezone="Europe/Berlin"), ("a.org",), (), 3, False
    ),
    parallel_tool_calls=False,
    tool_choice=ToolChoice("required", ("weather",)),
    service_tier="flex",
    user_id="kim",
    logprobs=5,
    context_limit=100_000,
    reply_reserve=1_000,
    author_note=AuthorNote("Keep it short.", 2, "user"),
    user_name="Kim",
    char_name="Aria",
    lore=LoreRules(
        names=True,
        budget_percent=25,
        min_activations=2,
        group_scoring=True,
        scan_depth=0,
        recursive=False,
        max_recursion_steps=3,
        case_sensitive=True,
        match_whole_words=False,
        tiers=(0, 2),
    ),
    global_variables={"mood": "calm", "Tür": "{{user}} “x”\n"},
    character=CharacterTexts("A storm.", "Be {{char}}.", "<START>\n{{user}}: Hi."),
    injections=(Injection("a", "One.", 0, "user", "before_main", True), Injection("b", "Two.")),
    scripts=(
        TextScript("s", "/zzz/g", "b", ("user", "lore"), -1, 2.5, ("x",), "raw", True),
        TextScript("", "zzz", ""),
    ),
    reply_start="Sure, ",
)
"""A value for every setting."""

any_settings = st.builds(
    Settings,
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 10**6),
    effort=st.sampled_from([None, "none", "high"]),
    stop=st.none() | st.lists(st.text("a\n好", min_size=1, max_size=3), max_size=2).map(tuple),
    web_search=st.sampled_from(
        [None, WebSearch(), WebSearch(enabled=False), EVERY_SETTING.web_search]
    ),
    response_format=st.sampled_from([None, EVERY_SETTING.response_format]),
    author_note=st.none()
    | st.builds(
        AuthorNote, st.text(' "{}[a\n', max_size=4), st.integers(0, 5), st.sampled_from(NOTE_ROLES)
    ),
)

words = st.text("abc de\n你", max_size=12)


@st.composite
def histories(draw: st.DrawFn, max_size: int = 12) -> tuple[Message, ...]:
    """A conversation of user and assistant messages with ids, some of them pinned."""
    length = draw(st.integers(0, max_size))
    return tuple(
        Message.of(
            role="assistant" if index % 2 else "user",
            text=f"{draw(words)}#{index}",
            id=f"m{index}",
            pinned=draw(st.booleans()) if draw(st.integers(0, 5)) == 0 else False,
        )
        for index in range(length)
    )


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    """A preset with anchors, depths, doubles and mistakes."""
    ids = ["p", "q", "r"]
    messages: list[PresetMessage] = []
    for index in range(draw(st.integers(0, 8))):
        kind = draw(
            st.sampled_from(
                ["message", "message", "message", "placeholder", "chat_history", "user_profile"]
            )
        )
        is_message = kind == "message"
        messages.append(
            PresetMessage(
                id=draw(st.sampled_from(ids)) if kind == "placeholder" else f"id{index}",
                role=draw(st.sampled_from(["system", "user", "assistant"])),
                content=draw(st.one_of(st.just(""), words.map(lambda w, i=index: f"{w}@{i}")))
                if is_message
                else "",
                type=kind,
                enabled=draw(st.integers(0, 6)) != 0,
                insertion_point=draw(st.one_of(st.none(), st.integers(-6, 6)))
                if is_message
                else None,
                anchor_point=draw(st.sampled_from([None, None, "before", "after"]))
                if is_message
                else None,
                anchor_target=draw(st.sampled_from([None, None, *ids, "nowhere"]))
                if is_message
                else None,
                order=draw(st.integers(-2, 2)),
                cache_control=draw(st.sampled_from([None, None, None, "5m", "1h"])),
            )
        )
    return Preset(
        "random", tuple(messages), system_placement=draw(st.sampled_from(["hoist", "in_place"]))
    )
