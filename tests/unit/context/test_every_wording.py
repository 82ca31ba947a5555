"""A walk over the sentences of notes whose code has several: a text that raises each, and one close
to it that must not. `test_every_note` walks over the codes.
"""

from __future__ import annotations

from tests.support.contexts import HISTORY, built, said
from tests.support.tables import each_row
from tests.unit.context.lorebooks.test_activation import entry, told
from tui_chat.models.preset import PresetMessage
from tui_chat.models.role import Character, Profile, Role

VALUES = {
    "a": "{{getvar::b}}",
    "b": "{{getvar::a}}",
    "long": "x" * 200_000,
    "word": "w",
    "list": "[1]",
}
ADA = Role("r", "Ada", character=Character(first_message="Hello."))
MACROS: list[tuple[str, str, str]] = [
    ("is not a dice roll such as 2d6 or d20+1", "{{roll::x}}", "{{roll::d6}}"),
    ("takes 1 to 100 dice of at least one face", "{{roll::101d6}}", "{{roll::100d6}}"),
    ("takes 1 to 100 dice of at least one face", "{{roll::1d0}}", "{{roll::1d1}}"),
    ("is not a variable with an operator", "{{.word ~ 2}}", "{{.word == 2}}"),
    ("does not compare numbers", "{{.word < 2}}", "{{.n = 1}}{{.n < 2}}"),
    ("does not subtract a number", "{{.word -= x}}", "{{.n = 1}}{{.n -= 1}}"),
    ("does not name a greeting by its number", "{{greeting::x}}", "{{greeting::0}}"),
    ("takes two times such as 2025-06-30 or 2025-06-30 18:05", "{{timeDiff::x::y}}",
     "{{timeDiff::2025-06-30::2025-06-29}}"),
    ("names no key of an object, and no index below 1,000", "{{setvarkey::list::1000::x}}",
     "{{setvarkey::list::999::x}}"),
    ("names a variable that is no list or object", "{{setvarkey::word::k::v}}",
     "{{setvarkey::list::0::v}}"),
    ("takes no arguments", "{{user::a}}", "{{user}}"),
    ("lacks an argument", "{{setvar::x}}", "{{setvar::x::y}}"),
    ("has too many arguments", "{{getvar::word::b::c}}", "{{getvar::word}}"),
    ("leads back to itself (variable “a” → variable “b” → variable “a”)", "{{getvar::a}}",
     "{{getvar::word}}"),
    ("would exceed the 2,000,000 characters that macros may expand to", "{{long}}" * 11,
     "{{long}}" * 9),
]  # fmt: skip
KEYS: list[tuple[str, str, str]] = [
    ("it has a group of an unknown kind", "/(?/", "/(?:a)/"),
    ("it leaves a class open", "/[a/", "/[a]/"),
    ("it names a character that does not exist", r"/\u{110000}/u", r"/\u{10ffff}/u"),
    ("it asks for the property Zz9, which is unknown", r"/\p{Zz9}/u", r"/\p{Lu}/u"),
    ("it has an escape \\p without a property", r"/\p/u", r"/\p{L}/u"),
    ("it has an escape \\c that means nothing", r"/\c/u", r"/\cA/u"),
    ("it has a range of characters that ends before it begins", "/[z-a]/", "/[a-z]/"),
    ("it has a repetition that ends before it begins", "/a{2,1}/", "/a{1,2}/"),
]


@each_row(("why", "shows", "silent"), MACROS)
def test_why_a_macro_stays_is_said_where_it_is_true(why: str, shows: str, silent: str) -> None:
    def sentences(text: str) -> list[str]:
        made = built(HISTORY, said(text), preset_variables=VALUES, role=ADA)
        return [note.sentence for note in made.notes if note.code == "macro-stays"]

    assert any(f"{why}; it stays as it is written." in each for each in sentences(shows))
    assert sentences(silent) == []


@each_row(("why", "shows", "silent"), KEYS)
def test_why_a_key_is_no_pattern_is_said_where_it_is_true(
    why: str, shows: str, silent: str
) -> None:
    [note] = [note for note in told(entry("x", shows)).notes if note.code == "lore-key"]
    assert f"is not a usable pattern: {why}; it is searched for as plain text." in note.sentence
    assert not [note for note in told(entry("x", silent)).notes if note.code == "lore-key"]


def test_a_second_anchor_of_the_profile_names_the_first() -> None:
    first, second = (PresetMessage(name, type="user_profile") for name in ("who", "again"))
    made = built(HISTORY, first, second, profile=Profile("Ada", "A"))
    [sentence] = [note.sentence for note in made.notes if note.code == "doubled-anchor"]
    assert sentence.endswith("is another anchor for the profile, which is sent once: at “who”.")
    made = built(HISTORY, first, profile=Profile("Ada", "A"))
    assert "doubled-anchor" not in [note.code for note in made.notes]
