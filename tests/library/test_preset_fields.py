"""The quick look at a preset's values and pydantic's close look agree."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tui_chat.library.preset_model import MessageFile, PoliciesFile, PresetFile
from tui_chat.library.presets import MessageFields, PresetFields, _plain
from tui_chat.models.policies import Policies

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ("message", "chat_history", "user", "system", "tool", "before", "after", "in_place")
    ),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)
MESSAGES = st.lists(
    st.one_of(VALUES, st.dictionaries(st.sampled_from([*MessageFile.model_fields, "x"]), VALUES)),
    max_size=3,
)


def test_both_have_the_same_fields_and_defaults():
    assert [each.name for each in fields(MessageFields)] == list(MessageFile.model_fields)
    assert asdict(MessageFields()) == MessageFile().model_dump()
    assert {each.name for each in fields(PresetFields)} == set(PresetFile.model_fields)
    ours, theirs = PresetFields(()), PresetFile(preset_messages=())
    assert asdict(ours) == theirs.model_dump()
    assert {each.name for each in fields(Policies)} == set(PoliciesFile.model_fields)


@given(MESSAGES, st.dictionaries(st.sampled_from([*PresetFile.model_fields]), VALUES))
def test_what_is_plain_is_valid_and_means_the_same(messages: list[Any], beside: dict[str, Any]):
    whole = {**beside, "preset_messages": messages}
    plain = _plain(whole)
    try:
        checked = PresetFile.model_validate(whole)
    except ValidationError:
        assert plain is None
        return
    if plain is not None:
        assert asdict(plain) == checked.model_dump()


def test_the_first_screen_loads_no_pydantic():
    code = (
        "import sys; import tui_chat.ui.app, tui_chat.workspace.workspace, tui_chat.store\n"
        "from tui_chat.library.library import Library\n"
        "from tui_chat.paths import bundled\n"
        "from pathlib import Path\n"
        "assert Library(Path('none'), bundled('sample_presets')).preset('plain').messages\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
