"""Groups of preset messages under dividers."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.library.editing.edits import groups_of, heading_title, switch_group
from tui_chat.models.preset import Preset, PresetMessage


@each_row(
    ("name", "title"),
    [
        *(("--- STYLE ---", "STYLE"), ("━━━ Style", "Style"), ("➖➖ A ➖➖", "A"), ("== A", "A")),
        *(("✦ Tone ✦", "Tone"), ("---", ""), ("◆◆◆", ""), ("- point", None), ("Main", None)),
        *(("* one", None), ("</style>", None), ("<main>", None), ("", None), ("# Head", None)),
    ],
)
def test_dividers_are_headings(name: str, title: str | None) -> None:
    assert heading_title(PresetMessage("x", name=name)) == title


def listed() -> Preset:
    return Preset(
        "p",
        (
            PresetMessage("first", content="F"),
            PresetMessage("h1", name="--- STYLE ---"),
            PresetMessage("a", content="A"),
            PresetMessage("b", content="B", enabled=False),
            PresetMessage("lore", content="{{worldInfoBefore}}", requires="worldInfoBefore"),
            PresetMessage("new", content="[New]", anchor_point="before"),
            PresetMessage("history", type="chat_history"),
            PresetMessage("deep", content="D", insertion_point=-1),
            PresetMessage("h2", name="== End ==", content="{{// x}}"),
            PresetMessage("c", content="C"),
            PresetMessage("line", name="======"),
            PresetMessage("last", content="L"),
        ),
    )


def test_a_group_reaches_to_the_next_divider_without_anchors_and_places_of_the_card() -> None:
    groups = groups_of(listed())
    assert {index: (each.title, each.members) for index, each in groups.items()} == {
        1: ("STYLE", (2, 3)),
        8: ("End", (9,)),
    }


def test_a_group_is_switched_off_and_on_with_what_was_on() -> None:
    preset = listed()
    group = groups_of(preset)[1]
    off = switch_group(preset, group, frozenset())
    assert [m.id for m in off.messages if not m.enabled] == ["a", "b"]
    assert switch_group(off, group, frozenset({"a"})) == preset
    all_on = switch_group(off, group, frozenset())
    assert all(m.enabled for m in all_on.messages)
    end = groups_of(preset)[8]
    assert not switch_group(preset, end, frozenset()).messages[8].enabled, "its heading has a text"
