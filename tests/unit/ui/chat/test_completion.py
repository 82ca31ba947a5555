"""What is asked for while one types, and what the keys do with the candidates."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.ui.chat.command_suggestions import rank_names
from tui_chat.ui.chat.completion import CompletionQuery, completion_query_at


@each_row(
    ("before", "asked"),
    [
        ("/", CompletionQuery("command", "", 0)),
        ("/mo", CompletionQuery("command", "mo", 0)),
        ("/model ", CompletionQuery("argument", "", 7, "model")),
        ("/model gpt 5", CompletionQuery("argument", "gpt 5", 7, "model")),
        ("see @", CompletionQuery("path", "", 4)),
        ("@src/你", CompletionQuery("path", "src/你", 0)),
        ("//", None),
        ("/etc/hosts", None),
        ("me@example.org", None),
        ("@done already", None),
        ("", None),
    ],
)
def test_the_query_at_the_cursor(before: str, asked: CompletionQuery | None):
    assert completion_query_at(0, before) == asked


def test_commands_are_completed_in_the_first_line_only():
    assert completion_query_at(1, "/mo") is None
    assert completion_query_at(1, "@x") == CompletionQuery("path", "x", 0)


MODELS = [
    *("loopback/mirror", "loopback/echo", "there/loquat", "there/long", "far/gpt-local", "far/halo")
]


@each_row(
    ("typed", "listed"),
    [
        ("lo", ["there/loquat", "there/long", "loopback/mirror", "loopback/echo", *MODELS[4:]]),
        ("echo", ["loopback/echo"]),
        ("Lo GPT", ["far/gpt-local"]),
        ("", MODELS),
        ("none", []),
    ],
)
def test_a_model_whose_name_starts_with_the_text_is_listed_first(typed: str, listed: list[str]):
    assert [name for name, _ in rank_names([(name, "") for name in MODELS], typed)] == listed


def test_an_endpoint_that_is_named_exactly_is_listed_first():
    names = ["vllm-8001/qwen", "groq/vllm", "vllm-8001/vllm-tuned", "vllm/llama", "vllm/qwen"]
    given = [(name, "") for name in names]
    assert [name for name, _ in rank_names(given, "vllm")][:3] == [
        "vllm/llama",
        "vllm/qwen",
        "groq/vllm",
    ]
    assert [name for name, _ in rank_names(given, "VLLM qwen")] == ["vllm/qwen", "vllm-8001/qwen"]
