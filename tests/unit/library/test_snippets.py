"""Snippets, prices and the library of files."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import ENDPOINT
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat import paths
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.library.library import Library, file_name
from tui_chat.library.prices import load_prices
from tui_chat.library.roles_and_profiles import dump_profile
from tui_chat.library.snippets import Blank, Snippet, expanded, read_snippet
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.preset import Preset
from tui_chat.models.prices import Prices, shipped_prices
from tui_chat.models.role import Profile
from tui_chat.models.settings import Settings


def test_text_blanks_and_description():
    text = (
        "---\ndescription: 'Review a change'\ntags:\n  - code\n---\n"
        "Review {{?lang::Python}} in a {{?tone::dry|warm}} tone: {{?lang}} {{?what}}\n"
    )
    lang = Blank("lang", ("Python",))
    assert read_snippet(text, "f") == Snippet(
        ("Review ", lang, " in a ", Blank("tone", ("dry", "warm")), " tone: ", lang, " ",
         Blank("what")),
        "Review a change",
    )  # fmt: skip
    assert Blank("what").text == "{{?what}}"
    assert lang.text == "Python"


@each_row(
    ("text", "fault"),
    [
        ("", "f is empty"),
        (" \n\n", "f is empty"),
        ("---\n---\n", "f is empty"),
        ("x" * 50_001, "longer than 50,000 characters"),
    ],
)
def test_a_fault_names_file_and_line(text: str, fault: str):
    with pytest.raises(InputError) as told:
        read_snippet(text, "f")
    assert fault in str(told.value)


@given(st.text(st.sampled_from("{}?|:-ab \n"), max_size=60))
def test_any_text_is_a_snippet_or_a_fault(text: str):
    with suppress(InputError):
        snippet = read_snippet(text, "f")
        whole = "".join(map(str, (getattr(piece, "text", piece) for piece in snippet.pieces)))
        assert whole.strip()


@each_row(
    "text", ["{{?}}", "{{?a/b}}", "a {{?b", "{{?b\n}}", "{{?" + "x" * 41 + "}}", "---\nno end"]
)
def test_what_is_no_blank_and_no_description_is_text(text: str):
    assert read_snippet(text, "f") == Snippet((text,))


def test_macros_are_expanded_between_the_blanks():
    snippet = read_snippet("{{user}} asks {{?what}} of {{char}} {{nonsense}}", "f")
    inputs = Inputs(ENDPOINT, Preset("p"))
    assert expanded(snippet, inputs) == (
        "User asks ", Blank("what"), " of Assistant {{nonsense}}"
    )  # fmt: skip


def test_an_inserted_value_makes_no_blank():
    snippet = read_snippet("I am {{user}}. {{?what}}", "f")
    inputs = Inputs(ENDPOINT, Preset("p"), profile=Profile("{{?evil}}", ""))
    assert expanded(snippet, inputs) == ("I am {{?evil}}. ", Blank("what"))


def test_snippets_are_files_of_the_library(tmp_path: Path):
    library = Library(tmp_path, tmp_path / "none")
    assert library.names("snippets") == ()
    path = library.save_snippet("Review {{?what}}\n\n", "code/review")
    assert (path.name, path.read_text()) == ("code review.md", "Review {{?what}}\n")
    assert library.names("snippets") == ("code review",)
    assert library.snippet("code review").pieces == ("Review ", Blank("what"))
    with pytest.raises(InputError, match="exists already"):
        library.save_snippet("x", "code review")
    assert library.save_snippet("x", "code review", overwrite=True) == path
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"code review\.md: line 1 is not UTF-8"):
        library.snippet("code review")
    with pytest.raises(InputError, match="There is no snippet “other”"):
        library.snippet("other")


# --- The library: files by name -----------------------------------------------------------


@pytest.fixture
def shelf(tmp_path: Path) -> Library:
    return Library(tmp_path, paths.bundled("sample_presets"))


def test_own_presets_take_precedence_over_bundled_ones(shelf: Library, tmp_path: Path):
    assert "plain" in shelf.names("presets")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "plain.json").write_text('[{"role": "user", "content": "mine"}]')
    assert shelf.names("presets").count("plain") == 1
    assert shelf.preset("plain").messages[0].content == "mine"


def test_an_unknown_name_lists_the_available_ones(shelf: Library):
    with pytest.raises(InputError) as told:
        shelf.preset("nope")
    assert "There is no preset “nope”" in str(told.value)
    assert "plain" in told.value.advice
    with pytest.raises(InputError) as told:
        shelf.lorebook("nope")
    assert "lorebooks" in told.value.advice


def test_a_saved_profile_is_read_back(shelf: Library):
    profile = Profile("Zoë “Z”", "Two\nlines, and 中文")
    assert shelf.profile(shelf.save_profile(profile)) == profile
    with pytest.raises(InputError, match="exists already"):
        shelf.save_profile(profile)
    for placed in (
        Profile("At a depth", "x", "depth", 0, "user"),
        Profile("At the note", "x", "note_top"),
    ):
        assert shelf.profile(shelf.save_profile(placed, placed.name)) == placed


@each_row(
    ("name", "file"),
    [
        ("Ada", "Ada"),
        ("a/b\\c", "a b c"),
        ("..", None),
        ("", None),
        ("x\ny", "x y"),
        ("A" * 99, "A" * 80),
    ],
)
def test_file_names_are_valid_on_every_system(name: str, file: str | None):
    if file is None:
        with pytest.raises(InputError):
            file_name(name)
    else:
        assert file_name(name) == file


def test_an_edited_profile_keeps_its_file_and_its_unknown_keys(tmp_path: Path):
    (tmp_path / "profiles").mkdir()
    path = tmp_path / "profiles" / "me.json"
    path.write_text('{"name": "Kim", "content": "Old.", "note": "kept", "placement": "none"}')
    shelf = Library(tmp_path, tmp_path)
    assert shelf.save_profile(Profile("Kim Lee", "New."), "me") == "me"
    assert json.loads(path.read_text()) == {"name": "Kim Lee", "content": "New.", "note": "kept"}
    assert shelf.names("profiles") == ("me",)


def test_a_profile_at_a_depth_is_written_as_ever_so_that_imports_again_find_it():
    text = dump_profile(Profile("Kim", "Sails.", "depth", 3, "user"))
    assert list(json.loads(text)) == ["name", "content", "placement", "depth", "role"]


def test_a_profile_that_another_program_changed_is_overwritten_only_if_asked(tmp_path: Path):
    (tmp_path / "profiles").mkdir()
    path = tmp_path / "profiles" / "me.json"
    shelf, before = Library(tmp_path, tmp_path), Profile("Kim", "Old.", "anchor", 5, "user")
    path.write_text(
        '{"mood": 1, "name": "Kim", "content": "Elsewhere.", "depth": 5, "role": "user"}'
    )
    kept = json.loads(path.read_text())
    edited = Profile("Kim", "Mine.", "anchor", 5, "user")
    with pytest.raises(ChangedElsewhere, match="changed this profile"):
        shelf.save_profile(edited, "me", before=before)
    assert json.loads(path.read_text()) == kept
    shelf.save_profile(edited, "me", before=before, overwrite=True)
    assert json.loads(path.read_text()) == {**kept, "content": "Mine."}
    path.unlink()
    with pytest.raises(ChangedElsewhere, match="deleted"):
        shelf.save_profile(edited, "me", before=before)
    assert shelf.save_profile(edited, "me", before=before, overwrite=True) == "me"
    path.write_text("{")
    with pytest.raises(InputError):
        shelf.save_profile(edited, "me", before=before, overwrite=True)
    assert path.read_text() == "{", "what cannot be read is not replaced"


# --- Which prices count: the user's or ours; for what a request asks ----------------------


DAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
OPENAI = next(each for each in ENDPOINTS if each.name == "openai")
ONE, TWO = Decimal(1), Decimal(2)


def test_the_users_prices_go_first_on_their_days_and_at_the_standard_tier():
    known = load_prices()
    own = Prices(ONE, TWO, starts=date(2026, 11, 23), until=date(2026, 11, 24))
    endpoint = replace(OPENAI, facts=(("gpt-5", ModelFacts(prices=own)),))
    assert known.prices_of(endpoint, "gpt-5", DAY) == replace(own, source="config.toml")
    later = known.prices_of(endpoint, "gpt-5", datetime(2026, 11, 25, tzinfo=UTC))
    assert later is not None
    assert later.source == shipped_prices().label
    assert known.prices_of(endpoint, "gpt-5", DAY, {"service_tier": "default"}) is not None
    assert known.prices_of(endpoint, "gpt-5", DAY, {"service_tier": "flex"}) is None


@each_row(
    "model",
    [
        *("gpt-5", "openai/gpt-5", "claude-opus-4-5", "anthropic/claude-opus-4.5"),
        *("us.anthropic.claude-opus-4-5-20251101-v1:0", "gemini-2.5-pro", "grok-4"),
    ],
)
@each_row("url", ["http://127.0.0.1:9911", "https://gateway.example/v1"])
def test_a_model_of_one_maker_has_its_prices_behind_any_gateway(model: str, url: str):
    found = load_prices().prices_of(replace(OPENAI, base_url=url), model, DAY)
    assert found is not None
    assert found.source == f"{shipped_prices().label}, by the model's name"


@each_row(
    "model", ["gpt-oss-120b", "deepseek-r1:8b", "llama-3.1-8b", "mistral", "mirror", "", "gpt"]
)
def test_a_model_that_anybody_serves_has_no_price_at_an_unknown_host(model: str):
    local = replace(OPENAI, base_url="http://127.0.0.1:11434")
    assert load_prices().prices_of(local, model, DAY) is None


@each_row(
    ("asked", "said", "dollars"),
    [
        (None, "", "1.25"),
        (None, "default", "1.25"),
        ("flex", "", None),
        ("flex", "default", "1.25"),
        ("auto", "priority", None),
        ("scale", "", None),
        (None, "something new", None),
    ],
)
def test_the_tier_that_the_reply_names_goes_before_the_one_asked_for(
    asked: str | None, said: str, dollars: str | None
):
    endpoint = replace(OPENAI, settings=Settings(service_tier=asked))
    composed = compose(
        Inputs(endpoint, Preset("p"), draft="Hi", settings=SessionSettings(model="gpt-5"))
    )
    prices = load_prices().prices_of_request(composed, DAY)(said)
    assert (prices and prices.input) == (None if dollars is None else Decimal(dollars))
