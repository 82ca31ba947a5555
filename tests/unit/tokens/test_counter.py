"""Token counters: what they count, and how far they may be trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.blocks import Block, CallBlock, MediaBlock
from tui_chat.models.envelope import ToolDefinition, Turn
from tui_chat.models.message import text_blocks
from tui_chat.models.text import GLUE
from tui_chat.tokens import (
    LOW_DETAIL,
    NO_CORRECTION,
    PART_TOKENS,
    TURN_OVERHEAD,
    Correction,
    Counter,
    counter_for,
    how_counted,
    vocabulary_of,
)

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "dev"


def turn(text: str, *blocks: Block, name: str = "") -> Turn:
    return Turn("user", (*text_blocks(text), *blocks), GLUE, name=name)


@each_row(
    ("model", "vocabulary", "exact"),
    [
        ("gpt-4o-mini", "o200k_base", True),
        ("gpt-5.2", "o200k_base", True),
        ("o3", "o200k_base", True),
        ("openai/gpt-4.1", "o200k_base", True),
        ("ft:gpt-4o:acme::id", "o200k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("gpt-3.5-turbo", "cl100k_base", True),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3", True),
        ("llama3.1:8b", "llama3", True),
        ("llama-4-scout", "o200k_base", False),
        ("qwen2.5-coder:7b", "qwen2", True),
        ("Qwen/Qwen3-32B", "qwen3", True),
        ("qwen3.5-plus", "o200k_base", False),
        ("gemma3:4b", "gemma3", True),
        ("google/gemma-2-9b-it", "gemma2", True),
        ("mistralai/mistral-nemo", "mistral_v3", True),
        ("mistral:7b", "o200k_base", False),
        ("deepseek-chat", "deepseek_v3", True),
        ("deepseek-r1-distill-llama-70b", "llama3", True),
        ("claude-sonnet-4-5", "o200k_base", False),
        ("gemini-2.5-pro", "o200k_base", False),
        ("", "o200k_base", False),
    ],
)
def test_a_models_vocabulary(model: str, vocabulary: str, exact: bool):
    assert vocabulary_of(model) == (vocabulary, exact)
    counter = counter_for(model)
    assert counter.exact is exact
    assert counter.count("Hello world") > 0
    assert ("estimated" in how_counted(counter)) is not exact


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the recorded counts are not at {CORPUS}")
def test_counts_match_recorded_ones():
    """Each message as its client counted it: 3 for the message, its fields, a name's 1, and 3."""
    counted: dict[str, int] = {}
    for path in sorted(CORPUS.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        counter = counter_for(case["request_other"]["model"])
        for recorded in case["token_counts"]:
            message = recorded["message"]
            fields = sum(counter.count(value) for value in message.values())
            assert 3 + fields + ("name" in message) + 3 == recorded["raw_count"], (path, message)
            counted[counter.name] = counted.get(counter.name, 0) + 1
    assert counted["o200k"] > 1000
    assert counted["cl100k"] > 10


@each_row("text", ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"])
@each_row("model", ["gpt-4o", "gpt-4", "llama3", "qwen2.5-7b", "deepseek-chat"])
def test_typed_control_tokens_are_text(model: str, text: str):
    assert counter_for(model).count(text) > 1


@given(st.text(max_size=50))
def test_any_text_is_counted(text: str):
    assert counter_for("gpt-4o").count(text) >= bool(text)


def test_a_lone_surrogate_is_counted_as_its_replacement():
    assert counter_for("gpt-4o").count("\ud800") == counter_for("gpt-4o").count("\ufffd")


def test_a_turn_costs_everything_sent_for_it():
    count = Counter("letters", True, len).turn
    assert count(turn("four")) == 4 + TURN_OVERHEAD
    assert count(turn("", CallBlock("id", "look", "{}"))) == 6 + TURN_OVERHEAD
    assert count(turn("", name="Ada")) == 4 + TURN_OVERHEAD
    image = MediaBlock("image", data="AAAA")
    assert count(turn("", image)) == PART_TOKENS["image"] + TURN_OVERHEAD
    low = MediaBlock("image", url="https://x", detail="low")
    document = MediaBlock("file", text="twelve chars")
    assert count(turn("", low, document)) == LOW_DETAIL + 12 + TURN_OVERHEAD


def test_tools_are_counted_as_the_json_that_is_sent():
    counter = Counter("letters", True, len)
    one = ToolDefinition("look", "Looks.", {"type": "object"})
    assert counter.tools((one,)) == (len("lookLooks.") + len('{"type":"object"}') + 8,)


def test_only_estimates_are_corrected():
    ratio = NO_CORRECTION.after(100, 150)
    exact, rough = Counter("a", True, len), Counter("b", False, len)
    assert exact.corrected(ratio) is exact
    assert rough.corrected(NO_CORRECTION) is rough
    assert rough.corrected(ratio) is rough.corrected(Correction(10, 15))
    assert "1.50" in how_counted(rough.corrected(ratio))


@given(st.lists(st.tuples(st.integers(-5, 10**6), st.one_of(st.none(), st.integers(-5, 10**6)))))
def test_a_correction_is_bounded(replies: list[tuple[int, int | None]]):
    correction = NO_CORRECTION
    for estimated, reported in replies:
        correction = correction.after(estimated, reported)
    assert 0.25 <= correction.ratio <= 4


def test_newer_replies_weigh_more():
    correction = NO_CORRECTION
    for _ in range(10):
        correction = correction.after(1000, 1000)
    for _ in range(4):
        correction = correction.after(1000, 2000)
    assert 1.6 < correction.ratio < 2


def test_long_texts_are_counted_in_parts_and_the_longest_are_sampled():
    counter = counter_for("gpt-4o")
    line = "The quick brown fox jumps over the lazy dog.\n"
    one = counter.count(line * 1000) / 1000
    for count, near in ((10_000, 0.001), (200_000, 0.02)):
        assert counter.count(line * count) == pytest.approx(one * count, rel=near)
    began = thread_time()
    assert counter.count("x" * 70_000_000) > 1_000_000
    assert thread_time() - began < 2


WITHOUT_THE_LIBRARY = """
import json, sys
sys.modules["splintr"] = None
from tui_chat.tokens import counter_for
counter = counter_for("gpt-4o")
counts = [counter.count(text) for text in ("", "abcd" * 10, "漢字漢字漢")]
print(json.dumps([counter.name, counter.exact, counts, counter.alike("abcd efgh", "abcd ijkl")]))
"""


def test_without_the_library_tokens_are_estimated():
    """As where the library has no wheel, or its native part does not load."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_LIBRARY], capture_output=True, check=True
    )
    assert json.loads(done.stdout) == ["characters", False, [0, 10, 4], 2]
