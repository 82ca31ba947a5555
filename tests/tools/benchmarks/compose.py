"""Composing: 1,000 messages (400 kB) cold and after one keystroke, 10,000 after one keystroke, and
the same with 500 of them muted. The model of the 10,000 has no known limit, so that none is cut.

    uv run python tests/tools/benchmarks/compose.py [--litellm] [ROUNDS]

Cold is a conversation that was never seen, in a process that has composed another before: its
turns are made, counted with the model's vocabulary, traced, truncated and encoded. A keystroke is
the same conversation with another draft. `compose` is all that the screen waits for; `bytes` is
the body on top of it, which is made when it is sent, or shown as a whole.

With `--litellm` an environment of its own is made in a temporary directory (`uv venv`, `uv pip
install litellm`; needs the network), and litellm is timed in the same run and conversations:
its conversion alone (what `completion()` itself calls for each protocol), all it does from
`completion()` to its HTTP call, and its token counter. Processor time is of all threads: on a busy
machine it is the one to compare. Its conversion neither counts, nor
truncates, nor says what came from where. Prints medians, best times and ratios; asserts nothing.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message, Muted
from tui_chat.models.preset import Preset, PresetMessage

LENGTH = 400
"""Characters of a message."""
PRESET = Preset(
    "benchmark",
    (
        PresetMessage("main", content="You are {{char}}, and {{user}} asks you."),
        PresetMessage("history", type="chat_history", role="user"),
        PresetMessage("reminder", role="user", content="Be brief.", insertion_point=-2),
    ),
)
LITELLM = """
import copy, gc, json, os, statistics, sys, time
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.custom_httpx.http_handler import HTTPHandler
from litellm.completion_extras.litellm_responses_transformation.transformation import (
    LiteLLMResponsesTransformationHandler)
from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager
from litellm.llms.vertex_ai.gemini.transformation import sync_transform_request_body

class Reached(Exception):
    pass

def gemini(messages):
    sync_transform_request_body(
        gemini_api_key="key", messages=messages, api_base=None, model="gemini-2.5-pro", client=None,
        timeout=1, extra_headers=None, optional_params={}, logging_obj=None,
        custom_llm_provider="gemini", litellm_params={}, vertex_project=None, vertex_location=None,
        vertex_auth_header=None)

def up_to_http(model):
    def call(messages):
        client = HTTPHandler()
        def post(*_, **__):
            reached.append(time.perf_counter())
            raise Reached
        client.post = post
        try:
            litellm.completion(model=model, messages=messages, api_key="key", client=client,
                               max_retries=0, num_retries=0)
        except Exception:
            pass
    return call

openai = ProviderConfigManager.get_provider_chat_config("gpt-4o", LlmProviders.OPENAI)
responses = LiteLLMResponsesTransformationHandler()
ways = {
    "anthropic converts": lambda m: AnthropicConfig().transform_request(
        "claude-sonnet-4-5", m, {"max_tokens": 100}, {}, {}),
    "openai_chat converts": lambda m: openai.transform_request(
        "gpt-4o", m, {}, {"custom_llm_provider": "openai"}, {}),
    "openai_responses converts": responses.convert_chat_completion_messages_to_responses_api,
    "gemini converts": gemini,
    "anthropic up to HTTP": up_to_http("anthropic/claude-sonnet-4-5"),
    "gemini up to HTTP": up_to_http("gemini/gemini-2.5-pro"),
    "openai_chat counts": lambda m: litellm.token_counter(model="gpt-4o", messages=m),
}
gc.set_threshold(50_000, 20, 50)
conversations = json.load(open(sys.argv[1]))
found = {}
for name, way in ways.items():
    times = []
    work = []
    reached = []
    way(copy.deepcopy(conversations[0][:10]))
    for conversation in conversations:
        messages = copy.deepcopy(conversation)
        gc.collect()
        gc.freeze()
        reached = []
        began, worked = time.perf_counter(), time.process_time()
        way(messages)
        work.append((time.process_time() - worked) * 1000)
        ended = reached[0] if reached else time.perf_counter()
        times.append((ended - began) * 1000)
    found[name] = [statistics.median(times), min(times)]
    if not reached:  # what it does after its HTTP call is not the request's
        found[name + ", processor time"] = [statistics.median(work), min(work)]
print("RESULT" + json.dumps(found))
"""


def conversation(length: int, seed: int) -> tuple[Message, ...]:
    """A conversation nobody has seen: the words of this file's own text, shuffled."""
    chance = random.Random(seed)
    words = (__doc__ or "").split()
    messages: list[Message] = []
    for number in range(length):
        text = f"{seed}.{number}"
        while len(text) < LENGTH:
            text += " " + chance.choice(words)
        messages.append(Message.of("assistant" if number % 2 else "user", text, f"{seed}.{number}"))
    return tuple(messages)


def timed(what: Callable[[], object]) -> float:
    """Milliseconds that it takes."""
    began = time.perf_counter()
    what()
    return (time.perf_counter() - began) * 1000


def muted(history: tuple[Message, ...], count: int) -> tuple[Message, ...]:
    """The conversation with so many muted messages, all over it."""
    step = len(history) // count
    return tuple(
        message if index % step else replace(message, muted=Muted(whole=True))
        for index, message in enumerate(history)
    )


def measure(
    protocol: Protocol,
    length: int,
    rounds: int,
    muted_messages: int = 0,
    model: str = "gpt-4o",
) -> dict[str, list[float]]:
    """All times, in milliseconds."""
    endpoint = Endpoint("bench", protocol, "https://bench.invalid", models=(model,))
    times: dict[str, list[float]] = {}

    def once(kind: str, history: tuple[Message, ...], draft: str) -> None:
        inputs = Inputs(endpoint, PRESET, history, draft)
        began, worked = time.perf_counter(), time.process_time()
        composed = compose(inputs)
        times.setdefault(f"{kind} work", []).append((time.process_time() - worked) * 1000)
        times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
        times.setdefault(f"{kind} bytes", []).append(timed(lambda: composed.payload.body))

    once("warm", conversation(10, -1), "")
    for number in range(rounds):
        history = conversation(length, number)
        history = muted(history, muted_messages) if muted_messages else history
        gc.collect()  # what earlier rounds left is not this one's
        gc.freeze()  # ... and the application sets what it has loaded aside
        once("cold", history, "Hello")
        for key in range(10):
            once("keystroke", history, f"Hello{'!' * key} {number}")
    return times


def litellm(rounds: int) -> dict[str, list[float]]:
    """Median and best time of litellm with the same conversations, by what it does."""
    spoken = [
        [{"role": "system", "content": "You are Assistant, and User asks you."}]
        + [{"role": m.role, "content": m.content} for m in conversation(1000, number)]
        for number in range(rounds)
    ]
    with tempfile.TemporaryDirectory() as place:
        environment = Path(place, "venv")
        clean = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        subprocess.run(["uv", "venv", "-q", environment], check=True, env=clean)
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = ["uv", "pip", "install", "-q", "--python", python, "litellm"]
        subprocess.run(install, check=True, env=clean)
        said = Path(place, "conversations.json")
        said.write_text(json.dumps(spoken), encoding="utf-8")
        done = subprocess.run(
            [python, "-c", LITELLM, said], check=True, capture_output=True, text=True, env=clean
        )
    return json.loads(done.stdout.partition("RESULT")[2])


def line(name: str, *figures: float) -> None:
    print(f"  {name:<40}" + "".join(f"{figure:10.2f}" for figure in figures))


def main() -> None:
    gc.set_threshold(50_000, 20, 50)  # as the application does; litellm is given the same
    words = [word for word in sys.argv[1:] if word != "--litellm"]
    rounds = int(words[0]) if words else 9
    theirs = litellm(rounds) if "--litellm" in sys.argv else {}
    for protocol in Protocol:
        small = measure(protocol, 1_000, rounds)
        large = measure(protocol, 10_000, 2, model="no-known-limit")
        print(f"{protocol.label}, milliseconds: median, best")
        some = measure(protocol, 10_000, 2, muted_messages=500, model="no-known-limit")
        cases = (("1,000", small), ("10,000", large), ("10,000, 500 muted,", some))
        for name, times in cases:
            for kind in ("cold", "keystroke"):
                found, more = times[kind], times[f"{kind} bytes"]
                line(f"{name} {kind}", statistics.median(found), min(found))
                work = times[f"{kind} work"]
                line(f"{name} {kind}, processor time", statistics.median(work), min(work))
                line(f"{name} {kind}, its bytes", statistics.median(more), min(more))
        cold = statistics.median(small["cold"])
        ratio = statistics.median(small["keystroke"]) / cold
        line("keystroke / cold", ratio)
        for name, (median, best) in theirs.items():
            if name.startswith(protocol.value):
                line(f"litellm {name.removeprefix(protocol.value).strip()}", median, best)
                ours = small["cold work" if name.endswith("processor time") else "cold"]
                line("our cold / that", statistics.median(ours) / median, min(ours) / best)


if __name__ == "__main__":
    main()
