"""Facts follow a model's name, in whichever spelling a provider, cloud or gateway has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import golden
from tests.support.tables import each_row
from tui_chat.models import model_facts
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.model_facts import (
    NO_FACTS,
    ModelFacts,
    facts_of_json,
    is_newer_claude,
    is_openai_model,
    known_facts,
    published_facts,
)

SPELLINGS = golden.read(Path(__file__).parent / "data" / "model_names.json")


@each_row(("name", "spelled"), [(name, each) for name, many in SPELLINGS.items() for each in many])
def test_spellings_of_a_model_share_its_facts(name: str, spelled: str) -> None:
    assert known_facts(name) is not NO_FACTS
    assert known_facts(spelled) == known_facts(name)


LOW_TO_HIGH = ("low", "medium", "high")
ADAPTIVE = ("none", *LOW_TO_HIGH, "xhigh", "max")
CLAUDE_BUDGETS = (1_024, 128_000)
FAMILIES: list[tuple[str, tuple[str, ...], tuple[int, ...] | None, str]] = [
    # names, efforts, budgets, sampling: always, never, or at which efforts (- is the default)
    ("gpt-3.5-turbo azure/gpt-35-turbo openai/gpt-3.5-turbo-0125", (), None, ""),
    ("gpt-4 gpt-4-0613 gpt-4-turbo-2024-04-09 openai/gpt-4o:extended chatgpt-4o-latest "
     "gpt-4.1-nano", (), None, ""),
    ("gpt-5-chat gpt-5-chat-latest openai/gpt-5-chat", (), None, "always"),
    ("o1 o1-2024-12-17 o3 openai/o3-mini:online o3-2025-04-16 azure/o4-mini o4-mini-2025-04-16",
     LOW_TO_HIGH, None, "never"),
    ("gpt-5 openai/gpt-5 gpt-5-mini-2025-08-07 openai:gpt-5-nano gpt-5-2025-08-07",
     ("minimal", *LOW_TO_HIGH), None, "never"),
    ("gpt-5-pro gpt-5-pro-2025-10-06 openai/gpt-5-pro", ("high",), None, "never"),
    ("gpt-5.1 openai/gpt-5.1 gpt-5.1-2025-11-13", ("none", *LOW_TO_HIGH), None, "- none"),
    ("gpt-5.2 gpt-5.3-codex gpt-5.4 openai/gpt-5.4-mini gpt-5.4-nano-2026-03-17",
     ("none", *LOW_TO_HIGH, "xhigh"), None, "- none"),
    ("gpt-5.2-pro openai/gpt-5.4-pro gpt-5.5-pro-2026-04-23", ("medium", "high", "xhigh"), None,
     "never"),
    ("gpt-5.1-chat-latest openai/gpt-5.2-chat gpt-5.3-chat-latest", ("medium",), None, "never"),
    ("gpt-5.5 openai/gpt-5.5-2026-04-23", ("none", *LOW_TO_HIGH, "xhigh"), None, "none"),
    ("gpt-5.6 gpt-5.6-sol openai/gpt-5.6-terra azure/gpt-5.6-luna", ADAPTIVE, None, "none"),
    ("claude-haiku-4-5 anthropic/claude-sonnet-4.5 claude-4-5-haiku-20251001 claude-opus-4-1 "
     "claude-opus-4-20250514 claude-3-7-sonnet-latest", ("none",), CLAUDE_BUDGETS, "always"),
    ("claude-3-5-haiku-latest anthropic/claude-3-opus claude-2.1", (), (), "always"),
    ("claude-opus-4-5 anthropic/claude-opus-4.5 claude-4-5-opus us.anthropic.claude-opus-4-5-v1:0",
     ("none", *LOW_TO_HIGH), CLAUDE_BUDGETS, "always"),
    ("claude-opus-4-6 anthropic/claude-sonnet-4.6:beta claude-4.6-opus",
     ("none", *LOW_TO_HIGH, "max"), CLAUDE_BUDGETS, "always"),
    ("claude-opus-4-7 claude-opus-4.8 anthropic/claude-opus-5 claude-sonnet-5@20260901 "
     "claude-5-fable vertex_ai/claude-mythos-5", ADAPTIVE, (), "never"),
    ("gemini-2.0-flash models/gemini-2.0-flash-lite-001 google/gemini-1.5-pro", (), None, ""),
    ("gemini-2.5-flash google/gemini-2.5-flash models/gemini-2.5-flash-preview-05-20", ("none",),
     (1, 24_576), ""),
    ("gemini-2.5-flash-lite google/gemini-2.5-flash-lite:free", ("none",), (512, 24_576), ""),
    ("gemini-2.5-pro models/gemini-2.5-pro-latest google/gemini-2.5-pro", (), (128, 32_768), ""),
    ("gemini-3-flash-preview google/gemini-3.1-flash-lite models/gemini-3.5-flash gemini-3.6-flash",
     ("minimal", *LOW_TO_HIGH), None, ""),
    ("gemini-3.7-flash google/gemini-3.1-pro-preview", LOW_TO_HIGH, None, ""),
    ("gemini-3-pro-preview models/gemini-3-pro", ("low", "high"), None, ""),
]  # fmt: skip


@each_row(
    ("model", "efforts", "budgets", "sampling"),
    [(name, *rest) for names, *rest in FAMILIES for name in names.split()],
)
def test_what_each_family_accepts(
    model: str, efforts: tuple[str, ...], budgets: tuple[int, ...] | None, sampling: str
) -> None:
    facts = known_facts(model)
    assert (facts.efforts, facts.budgets) == (efforts, budgets)
    accepted = {"always": True, "never": False}.get(sampling)
    assert facts.sampling is accepted
    if sampling and accepted is None:
        words = tuple(word.replace("-", "") for word in sampling.split())
        assert facts.sampling_efforts == words


NEWER = ["claude-opus-4-9", "claude-fable-5-1", "claude-haiku-5-5", "us.anthropic.claude-opus-6"]
NOBODY = [
    "", "m", "gpt-5.10", "o10", "gpt-oss-120b", "my-gpt-5", "claudette-7b", "llama3",
    "qwen3-distill-claude-sonnet-4-5", "claude-sonnet-4-5-distill-qwen-7b", "gpt-5-distilled",
]  # fmt: skip


@each_row("name", NEWER)
def test_an_unknown_claude_has_no_facts(name: str) -> None:
    assert known_facts(name) is NO_FACTS
    assert is_newer_claude(name)


@each_row("name", NOBODY)
def test_unknown_names_have_no_facts(name: str) -> None:
    assert known_facts(name) is NO_FACTS
    assert not is_newer_claude(name)


OUTPUT = {
    "claude-opus-4-8": 128_000, "claude-sonnet-4-6": 128_000, "claude-haiku-4-5": 64_000,
    "claude-opus-4-5": 64_000, "claude-sonnet-4-0": 64_000, "claude-3-7-sonnet": 64_000,
    "claude-opus-4-1": 32_000, "claude-3-5-haiku-20241022": 8_192, "claude-3-opus-latest": 4_096,
    "gemini-2.5-flash": 65_536, "gemini-3.1-pro": 65_536, "gpt-5": None,
}  # fmt: skip


@each_row("model", OUTPUT)
def test_output_limits_of_models(model: str) -> None:
    assert known_facts(model).max_output == OUTPUT[model]


def test_facts_of_an_endpoint_override_the_name() -> None:
    facts = (("anthropic/claude-*", ModelFacts(sampling=False, max_output=9)),)
    endpoint = Endpoint("e", Protocol.ANTHROPIC, "https://e", facts=facts)
    here = endpoint.facts_of("anthropic/claude-sonnet-4.5")
    assert (here.sampling, here.max_output, here.context_limit) == (False, 9, 200_000)


def test_which_names_belong_to_openai() -> None:
    assert all(map(is_openai_model, ["gpt-4o", "openai/o3-mini", "chatgpt-4o-latest", "o1"]))
    assert not any(map(is_openai_model, ["gpt-oss-20b", "olmo-3", "claude-opus-4-8", "o"]))


def known_entries() -> list[dict[str, Any]]:
    path = Path(model_facts.__file__).with_name("known_facts.json")
    return json.loads(path.read_text(encoding="utf-8"))


@each_row("entry", known_entries(), ids=lambda entry: entry["models"][0])
def test_every_known_name_has_the_facts_of_its_entry(entry: dict[str, Any]) -> None:
    for name in entry["models"]:
        if not name.endswith("*"):
            facts = known_facts(name)
            for key in entry.keys() - {"models", "evidence"}:
                assert getattr(facts, key) == as_value(entry[key]), (name, key)
        else:
            assert known_facts(f"{name[:-1]}-x") is not NO_FACTS, name


def test_published_limits_are_possible() -> None:
    path = Path(model_facts.__file__).with_name("published_facts.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    for table in (data["anywhere"], *data["hosts"].values()):
        for name, values in table.items():
            facts = facts_of_json(values)
            assert 0 < (facts.context_limit or 1) <= 100_000_000, name
            assert (facts.max_output or 0) < (facts.context_limit or 10**9), name


def test_published_facts_do_not_contradict_efforts_that_are_known() -> None:
    chat = Endpoint("e", Protocol.OPENAI_CHAT, "https://e").facts_of("gpt-5-chat-latest")
    assert published_facts("gpt-5-chat-latest").reasons is True
    assert (chat.efforts, chat.reasons) == ((), None)


@each_row(
    ("model", "base_url", "accepted"),
    [
        ("anthropic/claude-4.5-opus", "", {"text", "image", "pdf"}),
        ("gpt-4o-2024-08-06", "", {"text", "image", "pdf"}),
        ("models/gemini-2.5-pro", "", {"text", "image", "audio", "video", "pdf"}),
        ("o3-mini", "", {"text"}),
        ("gpt-3.5-turbo-0125", "", {"text"}),
        ("deepseek-chat", "https://api.deepseek.com", {"text"}),
        ("deepseek-chat", "https://example.org", None),
        ("llama3", "http://127.0.0.1:11434/v1", None),
        ("claude-haiku-4-5-distill", "", None),
        ("gpt-5", "::no url", {"text", "image", "pdf"}),
    ],
)
def test_what_models_accept(model: str, base_url: str, accepted: set[str] | None) -> None:
    found = published_facts(model, base_url).input_media
    assert (None if found is None else set(found)) == accepted


def as_value(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
