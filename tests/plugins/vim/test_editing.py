"""Vim's keys on a text; `|` is the cursor."""

from __future__ import annotations

from string import ascii_letters, digits

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.plugins.vim.editing import VimEditing

NAMES = {"^": "escape", "<": "left", ">": "right"}


class Editor:
    """A text that is edited as the composer does it."""

    def __init__(self, text: str) -> None:
        self.cursor = text.index("|") if "|" in text else 0
        self.text = text.replace("|", "", 1)
        self.editing = VimEditing()
        self.editing.reset(self.text)
        self.recalled = 0
        self.unused: list[str] = []

    def press(self, keys: str) -> Editor:
        for character in keys:
            key = NAMES.get(character, character)
            edited = self.editing.press(
                key, character if key == character else None, self.text, self.cursor
            )
            if edited is not None:
                self.text, self.cursor = edited.text, edited.cursor
                self.recalled += edited.recall
            elif self.editing.label or key != character:
                self.unused.append(key)
            else:
                self.text = self.text[: self.cursor] + character + self.text[self.cursor :]
                self.cursor += 1
        return self

    def __str__(self) -> str:
        return f"{self.text[: self.cursor]}|{self.text[self.cursor :]}"


@each_row(
    ("before", "keys", "after"),
    [
        ("|", "hello^", "hell|o"),
        ("one |two three", "^dw", "one|two three"),
        ("one| two three", "^lldw", "one |three"),
        ("|one two three", "^2dw", "|three"),
        ("|one two", "^cwsix^", "si|x two"),
        ("|one two", "^cWsix^", "si|x two"),
        ("one tw|o three", "^ciwsix^", "one si|x three"),
        ("one t|wo three", "^daw", "one |three"),
        ('say "hi t|here" x', '^ci"bye^', 'say "by|e" x'),
        ("a (b| c) d", "^di(", "a (|) d"),
        ("a (b| c) d", "^da(", "a | d"),
        ("|one\ntwo\nthree", "^jdd", "one\n|three"),
        ("|one\ntwo\nthree", "^2dd", "|three"),
        ("|one two", "^yyp", "one two\n|one two"),
        ("|abc", "^xp", "b|ac"),
        ("|abc", "^3x", "|"),
        ("|foo bar", "^A!^", "foo bar|!"),
        ("|foo bar", "^$i!^", "foo ba|!r"),
        ("one |two", "^0D", "|"),
        ("|one two", "^wD", "one| "),
        ("|one two", "^wC!^", "one |!"),
        ("|a.b.c", "^f.;rX", "a.b|Xc"),
        ("|a.b.c", "^t.x", "|.b.c"),
        ("|one two three", "^wved", "one | three"),
        ("|abc", "^~", "A|bc"),
        ("|one\ntwo", "^J", "one| two"),
        ("|one\ntwo\nthree", "^G", "one\ntwo\n|three"),
        ("one\ntwo\nthr|ee", "^gg", "|one\ntwo\nthree"),
        ("|one two", "^guiwgUiw", "|ONE two"),
        ("|one", "^oline^", "one\nlin|e"),
        ("|one", "^Oline^", "lin|e\none"),
        ("|one", "^Rab^", "a|be"),
        ("日本|語 text", "^dw", "日|text"),
    ],
)
def test_keys_edit_as_in_vim(before: str, keys: str, after: str):
    assert str(Editor(before).press(keys)) == after


@each_row(
    ("before", "keys", "after"),
    [
        ("|one two three", "^dwdwuu", "one two three"),
        ("|one two", "^xu", "one two"),
        ("|one", "Xyz^u", "one"),
        ("|one two", "^dwiabc^uu", "one two"),
        ("|one two", "^ciwXX^u", "one two"),
        ("|one", "^onew^u", "one"),
    ],
)
def test_u_undoes_and_typing_is_one_step(before: str, keys: str, after: str):
    assert Editor(before).press(keys).text == after


def test_redo_brings_back_what_was_undone_and_else_is_the_app_s():
    editor = Editor("|one two").press("^dwu")
    edited = editor.editing.press("ctrl+r", None, editor.text, editor.cursor)
    assert edited is not None
    assert edited.text == "two"
    assert editor.editing.press("ctrl+r", None, "two", 0) is None


def test_what_a_draft_has_no_use_for_does_nothing():
    editor = Editor("o|ne").press("^/n*:?#qN@Z")
    assert str(editor) == "|one"
    assert editor.editing.label == "NORMAL"
    assert str(editor.press("f/")) == "|one"


def test_escape_without_anything_to_end_is_left_to_the_composer():
    editor = Editor("one|").press("^^")
    assert editor.unused == ["escape"]
    assert Editor("|one").press("^d^^").unused == ["escape"]
    assert Editor("|one").press("^v^^").unused == ["escape"]


def test_moving_beyond_an_end_brings_other_prompts():
    assert Editor("o|ne\ntwo").press("^k").recalled == -1
    assert Editor("o|ne\ntwo").press("^j").recalled == 0
    assert Editor("one\nt|wo").press("^j").recalled == 1
    assert Editor("o|ne\ntwo").press("^dk").recalled == 0


def test_labels_name_the_mode():
    editor = Editor("one|")
    labels = [editor.editing.label]
    for key in "^vvRXr":
        editor.press(key)
        labels.append(editor.editing.label)
    assert labels == ["", "NORMAL", "VISUAL", "NORMAL", "REPLACE", "REPLACE", "REPLACE"]
    editor.editing.reset("")
    assert editor.editing.label == ""


def test_undo_never_leads_back_to_another_draft():
    editor = Editor("a secret|").press("^x")
    editor.editing.reset("another")
    editor.text, editor.cursor = "another", 0
    assert editor.press("^uuu").text == "another"


@given(
    st.text(alphabet='ab .("\n日', max_size=30),
    st.text(st.sampled_from("^<>" + ascii_letters + digits + "$%(\"'{}[;,.~=-|"), max_size=25),
)
def test_any_keys_on_any_text_give_a_text_with_a_cursor_in_it(text: str, keys: str):
    editor = Editor(text).press(keys)
    assert 0 <= editor.cursor <= len(editor.text)
    assert "\r" not in editor.text
