"""Strategies for presets and lorebooks that files can contain."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.strategies import any_text
from tui_chat.models.boundary import camel_case
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.preset import Preset, PresetMessage

names = any_text.filter(bool)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), any_text),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(any_text, inner, max_size=3)
    ),
    max_leaves=5,
)
_KNOWN = (
    {"presetMessages", "preset_messages", "messages", "name", "entries"}
    | {camel_case(name) for name in PresetMessage.__slots__ + Preset.__slots__}
    | {camel_case(name) for name in LorebookEntry.__slots__ + Lorebook.__slots__}
    | {*PresetMessage.__slots__, *Preset.__slots__, *LorebookEntry.__slots__, *Lorebook.__slots__}
)
extras = st.dictionaries(any_text.filter(lambda key: key not in _KNOWN), json_values, max_size=3)
depths = st.one_of(st.none(), st.integers(-9, 9))
sides = st.sampled_from([None, "before", "after"])
targets = st.one_of(st.none(), any_text)

preset_messages = st.builds(
    PresetMessage,
    id=names,
    role=st.sampled_from(["system", "user", "assistant"]),
    content=any_text,
    type=st.sampled_from(["message", "chat_history", "user_profile", "placeholder"]),
    name=any_text,
    enabled=st.booleans(),
    insertion_point=depths,
    anchor_point=sides,
    anchor_target=targets,
    order=st.integers(-9, 9),
    cache_control=st.sampled_from([None, "5m", "1h"]),
    requires=any_text,
    extras=extras,
)
any_presets = st.builds(
    Preset,
    name=names,
    messages=st.lists(preset_messages, max_size=4).map(tuple),
    system_placement=st.sampled_from(["hoist", "in_place"]),
    variables=st.dictionaries(any_text, any_text, max_size=3),
    extras=extras,
)
_flags = st.one_of(st.none(), st.booleans())
_entries = st.builds(
    LorebookEntry,
    id=names,
    content=any_text,
    keys=st.lists(any_text, max_size=3).map(tuple),
    name=any_text,
    enabled=st.booleans(),
    constant=st.booleans(),
    secondary_keys=st.lists(any_text, max_size=3).map(tuple),
    secondary_logic=st.sampled_from(["and_any", "and_all", "not_any", "not_all"]),
    role=st.sampled_from(["system", "user", "assistant"]),
    insertion_point=depths,
    anchor_point=sides,
    anchor_target=targets,
    order=st.integers(-9, 200),
    scan_depth=st.one_of(st.none(), st.integers(0, 9)),
    case_sensitive=_flags,
    whole_words=_flags,
    prevent_recursion=st.booleans(),
    exclude_recursion=st.booleans(),
    delay_until_recursion=st.integers(0, 3),
    ignore_budget=st.booleans(),
    probability=st.floats(0, 100),
    extras=extras,
)
any_lorebooks = st.builds(
    Lorebook,
    name=names,
    entries=st.lists(_entries, max_size=3).map(tuple),
    scan_depth=st.integers(0, 9),
    token_budget=st.one_of(st.none(), st.integers(0, 999)),
    recursive=st.booleans(),
    max_recursion=st.integers(0, 20),
    case_sensitive=st.booleans(),
    whole_words=st.booleans(),
    extras=extras,
)
