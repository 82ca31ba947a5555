"""Facts about models from tables of others: what is taken from them, and what hostile ones do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import refresh_facts
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from refresh_facts import Skipped, main, published, read_source

from tests.support import golden
from tests.support.tables import each_row
from tui_chat.errors import InputError

_DATA = golden.read(Path(__file__).parent / "data" / "published_tables.json")
LITELLM = _DATA["LITELLM"]
MODELS_DEV = _DATA["MODELS_DEV"]
EXPECTED = """{
"date": "2026-01-02",
"sources": ["one 1", "two 2"],
"anywhere": {
"claude-haiku-9": {"context_limit": 200000, "reasons": true, "input_media": ["text", "image", \
"pdf"], "output_media": ["text"]},
"gpt-4o": {"context_limit": 127000, "max_output": 16384, "reasons": false, "input_media": \
["text", "image"], "output_media": ["text"]},
"gpt-4o-2024-05-13": {"context_limit": 128000, "max_output": 4096},
"gpt-4o-2024-08-06": {"context_limit": 128000, "max_output": 16384}
},
"hosts": {
"api.deepseek.com": {
"deepseek-chat": {"context_limit": 131072}
}
}
}
"""


def refresh(folder: Path, *sources: object, date: str = "2026-01-02") -> Result:
    words = ["--date", date, "--output", str(folder / "out.json")]
    for number, source in enumerate(sources):
        path = folder / f"source{number}"
        raw = source if isinstance(source, bytes) else json.dumps(source).encode()
        path.write_bytes(raw)
        words += ["--source", ("one 1", "two 2")[number], str(path)]
    return CliRunner().invoke(main, words)


def test_tables_are_merged_and_written_sorted(tmp_path: Path) -> None:
    done = refresh(tmp_path, LITELLM, gzip.compress(json.dumps(MODELS_DEV).encode()))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.json").read_text() == EXPECTED


def test_dated_models_that_are_as_the_undated_one_are_left_out(tmp_path: Path) -> None:
    assert refresh(tmp_path, LITELLM).exit_code == 0
    anywhere = json.loads((tmp_path / "out.json").read_text())["anywhere"]
    assert sorted(anywhere) == ["claude-haiku-9", "gpt-4o", "gpt-4o-2024-05-13"]


def of_litellm(**values: object) -> dict[str, Any]:
    return {
        "gpt-5": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 9, **values}
    }


BAD_VALUES = [
    {"max_output_tokens": value}
    for value in (-1, 10**12, 1e3, "8192", True, [1], {"a": 1}, float("nan"), float("inf"))
] + [
    {"supports_reasoning": "yes"},
    {"supported_modalities": "text"},
    {"supported_modalities": ["text", "smell"]},
    {"supported_modalities": [["text"]]},
    {"supported_modalities": {"text": 1}},
    {"supported_output_modalities": [None]},
]


@each_row("values", BAD_VALUES, ids=str)
def test_a_value_of_another_type_or_range_is_skipped(
    values: dict[str, object], tmp_path: Path
) -> None:
    done = refresh(tmp_path, of_litellm(**values))
    assert done.exit_code == 0, done.output
    assert "1 values" in done.output
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["anywhere"] == {"gpt-5": {"context_limit": 9}}


@each_row(
    "name", ["gpt-5\x1b[31m", "gpt-" + "9" * 200, "gpt-5 ", "gpt-５", "gpt-5\n", 'gpt-5"', "ft:gpt"]
)
def test_names_that_cannot_be_looked_up_are_skipped(name: str, tmp_path: Path) -> None:
    table = {**of_litellm(), name: of_litellm()["gpt-5"]}
    done = refresh(tmp_path, table)
    assert "skipped 1 names" in done.output
    assert "\x1b" not in done.output
    assert list(json.loads((tmp_path / "out.json").read_text())["anywhere"]) == ["gpt-5"]


BROKEN = {
    "nothing": (b"", "is not JSON"),
    "no JSON": (b"\x00\xff", "is not JSON"),
    "too deep": (b"[" * 200_000, "is not JSON"),
    "huge number": (b'{"a": ' + b"9" * 10_000 + b"}", "is not JSON"),
    "a list": (b"[]", "neither"),
    "other objects": (b'{"a": {}}', "neither"),
    "damaged gzip": (b"\x1f\x8b" + b"x" * 100, "is damaged"),
    "half a gzip": (gzip.compress(b"[]" * 99)[:-9], "is cut off"),
    "no vendor": (b'{"a": {"models": {"b": {}}}}', "no facts"),
    "no facts": (b'{"openai": {"models": {"gpt-5": 1, "gpt-6": {"limit": []}}}}', "no facts"),
}


@each_row("name", BROKEN)
def test_a_broken_source_is_one_error_and_changes_nothing(name: str, tmp_path: Path) -> None:
    raw, fault = BROKEN[name]
    (tmp_path / "out.json").write_text("as it was")
    done = refresh(tmp_path, raw)
    assert done.exit_code == 1
    assert fault in done.output
    assert "Traceback" not in done.output
    assert (tmp_path / "out.json").read_text() == "as it was"


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"openrouter": {"models": {f"m{n}": {"limit": {"context": n + 1}} for n in range(6000)}}}
    assert "at most 150,000 are kept" in refresh(tmp_path, many).output
    monkeypatch.setattr(refresh_facts, "MOST_BYTES", 100_000)
    bomb = refresh(tmp_path, gzip.compress(b" " * 10_000_000))
    assert "larger than 100,000 bytes" in bomb.output
    assert refresh(tmp_path, many).exit_code == 1


def test_dates_are_checked_and_missing_files_named(tmp_path: Path) -> None:
    assert refresh(tmp_path, LITELLM, date="yesterday").exit_code == 2
    words = ["--date", "2026-01-02", "--source", "a", str(tmp_path / "none")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "none" in done.output


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = ("limit", "modalities", "reasoning", "mode", "max_input_tokens", "supported_modalities")
MODEL = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4) | JSON


@given(st.dictionaries(st.sampled_from(["gpt-5", "gpt-5-2030-01-01", "x"]), MODEL), JSON)
def test_any_json_gives_a_file_that_can_be_read_or_an_error(
    models: dict[str, Any], other: object
) -> None:
    table = {"openai": {"models": models}, "mistral": {"models": other}, "a": other}
    try:
        text = published(
            "2026-01-02", {"one": read_source(json.dumps(table).encode(), "one", Skipped())}
        )
    except InputError:
        return
    for name, facts in json.loads(text)["anywhere"].items():
        assert name.startswith("gpt-5")
        assert all(
            type(facts[key]) is int for key in facts if key in ("context_limit", "max_output")
        )


def test_the_endpoints_offer_the_newest_model_of_each_family() -> None:
    text = refresh_facts.OUTPUT.read_text(encoding="utf-8")
    assert refresh_facts.CURRENT.read_text(encoding="utf-8") == refresh_facts.current_models(text)


@each_row(
    ("family", "names", "newest"),
    [
        (
            "gpt-*-sol",
            ["gpt-6-sol", "gpt-6.1-sol", "gpt-6.1-sol-pro", "gpt-5.9-sol"],
            "gpt-6.1-sol",
        ),
        ("claude-opus-*", ["claude-opus-4-8", "claude-opus-5", "claude-opus-4"], "claude-opus-5"),
        ("a-*", ["a-2", "a-10", "a-2025-08-07", "a-preview"], "a-10"),
        ("m-latest", ["m-latest", "m"], "m-latest"),
        ("x-*", ["y-1"], None),
    ],
)
def test_the_newest_has_the_highest_version(
    family: str, names: list[str], newest: str | None
) -> None:
    assert refresh_facts.newest_of(family, names) == newest


def test_a_family_without_models_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no model gpt-\*-terra of openai"):
        refresh_facts.current_models('{"anywhere": {}, "hosts": {}}')
