from hypothesis import given

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.models.sanitize import character_name, exact_runs, sanitize


@each_row(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("Kyōto – 木漏れ日 🙂", "Kyōto – 木漏れ日 🙂"),
        ("e\u0301", "e\u0301"),
        ("\x1b[31m", r"\u001b[31m"),
        ("a\x7f\x85\x9bb", r"a\u007f\u0085\u009bb"),
        ("a\u202eb\u202c", r"a\u202eb\u202c"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\u200b\u200c\u200d\u200e\u200f", r"\u200b\u200c\u200d\u200e\u200f"),
        ("\ufeff", r"\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3", "❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("a\ufe0f1\ufe0f❤\ufe0f\ufe0f", r"a\ufe0f1\ufe0f❤" + "\ufe0f" + r"\ufe0f"),
        ("👩\u200d\u202e💻", r"👩\u200d\u202e💻"),
        ("\U000e0041\U000e0042", r"\u{e0041}\u{e0042}"),
        ("\u00ad\u034f\u3164", r"\u00ad\u034f\u3164"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + r"\u0301\u0301"),
        ("\u0301a", r"\u0301a"),
    ],
)
def test_sanitized_text(text: str, expected: str) -> None:
    assert sanitize(text, "exact") == expected
    assert "".join(drawn for drawn, _ in exact_runs(text)) == expected


@given(any_text)
def test_sanitized_text_has_no_controls_or_overrides(text: str) -> None:
    drawn = sanitize(text, "exact")
    assert not any(c < " " or "\x7f" <= c <= "\x9f" or "\u202a" <= c <= "\u202e" for c in drawn)
    assert sanitize(drawn, "exact") == drawn


@each_row(
    ("marked", "name"),
    [
        (r"\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        (r"\u200b\u200b", "U+200B ZERO WIDTH SPACE"),
        (r"\u{e0041}", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        (r"\u009b", "U+009B control character"),
    ],
)
def test_hidden_characters_have_names(marked: str, name: str) -> None:
    assert character_name(marked) == name
