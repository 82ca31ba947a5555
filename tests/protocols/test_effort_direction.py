"""A wish to reason never becomes one not to reason, nor the other way round, whichever protocol a
request comes from, whichever it goes to, and whichever model it is for.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from tui_chat.cli.captured import convert
from tui_chat.compose import compose
from tui_chat.context.inputs import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.preset import Preset

PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def thinking(**config: Any) -> dict[str, Any]:
    return {**CONTENTS, "generationConfig": {"thinkingConfig": config}}


WISHES: list[tuple[str, Protocol, dict[str, Any]]] = [
    *(
        ("off" if word == "none" else "on", CHAT, {**PLAIN, "reasoning_effort": word})
        for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    ),
    ("off", RESPONSES, {"model": "m", "input": "hi", "reasoning": {"effort": "none"}}),
    ("on", RESPONSES, {"model": "m", "input": "hi", "reasoning": {"effort": "high"}}),
    ("off", ANTHROPIC, {**PLAIN, "max_tokens": 9000, "thinking": {"type": "disabled"}}),
    (
        "off",
        ANTHROPIC,
        {
            **PLAIN,
            "max_tokens": 9000,
            "thinking": {"type": "disabled"},
            "output_config": {"effort": "high"},
        },
    ),
    ("on", ANTHROPIC, {**PLAIN, "max_tokens": 9000, "thinking": {"type": "adaptive"}}),
    (
        "on",
        ANTHROPIC,
        {**PLAIN, "max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    ("off", GEMINI, thinking(thinkingBudget=0)),
    ("on", GEMINI, thinking(thinkingBudget=-1)),
    ("on", GEMINI, thinking(thinkingBudget=100)),
    ("on", GEMINI, thinking(thinkingLevel="HIGH")),
    ("off", OLLAMA, {**PLAIN, "think": False}),
    ("on", OLLAMA, {**PLAIN, "think": True}),
    ("on", OLLAMA, {**PLAIN, "think": "low"}),
]
NEVER_REASON = ("gpt-4o", "gpt-4.1", "claude-3-5-haiku-latest", "gemini-2.0-flash")
ALWAYS_REASON = {
    CHAT: ("gpt-5", "gpt-5-pro", "gpt-5.1-chat-latest", "gpt-5.5-pro", "o3", "o4-mini"),
    RESPONSES: ("gpt-5", "gpt-5-pro", "gpt-5.1-chat-latest", "gpt-5.5-pro", "o3", "o4-mini"),
    GEMINI: (
        *("gemini-2.5-pro", "models/gemini-2.5-pro", "gemini-3-pro-preview"),
        *("gemini-3-flash", "gemini-3.1-pro", "gemini-9"),
    ),
}
"""Models that reason whatever is asked of them, at their makers: the least is sent."""
MODELS = (
    *NEVER_REASON,
    *ALWAYS_REASON[CHAT],
    *ALWAYS_REASON[GEMINI],
    *("gpt-5.1", "gpt-5.2", "gpt-5.6", "gpt-5.5"),
    *("claude-3-7-sonnet-latest", "claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"),
    *("claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-8", "claude-fable-5", "claude-next-9"),
    *("gemini-2.5-flash", "gemini-2.5-flash-lite", "google/gemini-2.5-flash"),
    *("deepseek-chat", "qwen3", "grok-4", "unheard-of"),
)


def sent(body: Any, protocol: Protocol) -> str:
    """Return `on`, `off`, or the empty string for a request that says nothing."""
    if protocol is CHAT:
        word = body.get("reasoning_effort")
    elif protocol is RESPONSES:
        word = body.get("reasoning", {}).get("effort")
    elif protocol is OLLAMA:
        word = {False: "none", None: None}.get(body.get("think"), "on")
    elif protocol is ANTHROPIC:
        word = {"disabled": "none"}.get(kind := body.get("thinking", {}).get("type"), kind)
        word = word or body.get("output_config", {}).get("effort")
    else:
        config = body.get("generationConfig", {}).get("thinkingConfig", {})
        word = {0: "none"}.get(budget := config.get("thinkingBudget"), budget)
        word = word or config.get("thinkingLevel")
        assert word != "NONE", "a level that the API does not have"
    return "" if word is None else "off" if word == "none" else "on"


def fault(wish: str, body: Any, target: Protocol, model: str, notes: tuple[Note, ...]) -> str:
    """Return what is wrong with the answer to a wish; empty if it is right."""
    got = sent(body, target)
    codes = [(note.code, note.level) for note in notes if note.level is not Level.INFO]
    if got == wish:
        return ""
    if wish == "off":
        if got == "on" and (model not in ALWAYS_REASON.get(target, ()) or not codes):
            return "a wish not to reason asks to reason"
        return "" if got or notes else "a wish not to reason vanishes without a note"
    if got == "off":
        return "a wish to reason asks not to"
    is_known = model in NEVER_REASON or any("reasons by default" in note.sentence for note in notes)
    return "" if codes or is_known else f"a wish to reason vanishes: {notes}"


def test_no_conversion_turns_a_wish_round() -> None:
    wrong: list[str] = []
    for wish, source, request in WISHES:
        for target in Protocol:
            for model in MODELS:
                captured = json.dumps(request).encode()
                body, notes = convert(captured, source, Endpoint("e", target, ""), model=model)
                if why := fault(wish, json.loads(body), target, model, tuple(notes)):
                    wrong.append(f"{source} {request} to {target} {model}: {why}: {body[:300]!r}")
    assert not wrong, "\n".join([str(len(wrong)), *wrong[:60]])


def test_no_composed_request_turns_a_wish_round() -> None:
    wrong: list[str] = []
    for target in Protocol:
        for model in MODELS:
            for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
                settings = SessionSettings(model=model, effort=word)
                composed = compose(
                    Inputs(Endpoint("e", target, ""), Preset("p"), draft="hi", settings=settings)
                )
                body = json.loads(composed.payload.body)
                wish = "off" if word == "none" else "on"
                if why := fault(wish, body, target, model, composed.notes):
                    wrong.append(f"{word} to {target} {model}: {why}: {body}")
    assert not wrong, "\n".join([str(len(wrong)), *wrong[:60]])


def test_a_server_of_another_protocol_gets_the_word_unchanged() -> None:
    wrong: list[str] = []
    for target in (CHAT, RESPONSES):
        for model in ("anthropic/claude-sonnet-4.5", "claude-opus-4-6", "gemini-2.5-pro"):
            for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
                settings = SessionSettings(model=model, effort=word)
                composed = compose(
                    Inputs(Endpoint("e", target, ""), Preset("p"), draft="hi", settings=settings)
                )
                body = json.loads(composed.payload.body)
                got = body.get("reasoning_effort") or body.get("reasoning", {}).get("effort")
                notes = [note.sentence for note in composed.notes if "effort" in note.sentence]
                if got != word or notes:
                    wrong.append(f"{word} to {target} {model}: {got} {notes}")
    assert not wrong, "\n".join(wrong)


def test_facts_of_the_user_hold_for_every_protocol_and_turn_no_wish_round() -> None:
    wrong: list[str] = []
    facts = ("none",), ("none", "low"), ("medium", "high"), ("high",)
    for target in Protocol:
        for efforts in facts:
            for word in ("none", "minimal", "high", "max"):
                for by_default in (None, True, False):
                    model = ModelFacts(efforts=efforts, reasons_by_default=by_default)
                    endpoint = Endpoint("e", target, "", facts=(("m", model),))
                    settings = SessionSettings(model="m", effort=word)
                    composed = compose(Inputs(endpoint, Preset("p"), draft="hi", settings=settings))
                    body = json.loads(composed.payload.body)
                    if word == "none" and "none" not in efforts and by_default is not False:
                        continue  # it always reasons: the least
                    wish = "off" if word == "none" else "on"
                    if why := fault(wish, body, target, "m", composed.notes):
                        wrong.append(f"{word} to {target} {efforts} {by_default}: {why}: {body}")
    assert not wrong, "\n".join([str(len(wrong)), *wrong[:60]])
