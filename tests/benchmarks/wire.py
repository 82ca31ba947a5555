"""How fast requests are encoded and streamed replies read, beside what others use for it.

    uv run python -m tests.benchmarks.wire [--litellm] [--turns 400] [--tokens 5000]

Encoding: an OpenAI-shaped conversation with tools becomes each protocol's body, from nothing
(no turn was ever encoded), and once more with one turn changed, as a keystroke does.
Reading: a stream of the offline provider's, served from memory by a socket, is read to a whole
reply: by us, by the official SDKs' own accumulators, by litellm. All three pay for HTTP.

`--litellm` makes an environment for it with `uv venv` in a temporary folder;
`--litellm-python PATH` takes one that is there. The figures are for people: nothing is asserted,
ratios matter and not milliseconds. Best of several runs each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

PROTOCOLS = ("openai_chat", "openai_responses", "anthropic", "gemini")
RUNS = 5
ENOUGH = 4.0
"""Seconds after which nothing is run again."""

LITELLM = ("litellm", "mcp")
"""Its Responses API does not start without the second."""

Figures = dict[str, dict[str, float | str]]
"""What was measured, protocol by protocol: seconds, or why not."""


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the quickest run, after one to warm up."""
    work()
    seconds: list[float] = []
    while len(seconds) < RUNS and sum(seconds) < ENOUGH:
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def conversation(turns: int) -> list[dict[str, Any]]:
    """Return an OpenAI-shaped history: talk, and every fifth time a tool call with its answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a harbour master."}]
    for number in range((turns - 1) // 2):
        words = f"Message {number}: the ferry — ぼくの 船 — leaves at dawn.\n" * 6
        messages.append({"role": "user", "content": words})
        if number % 5:
            messages.append({"role": "assistant", "content": words.upper()})
            continue
        call = {"name": "tide", "arguments": json.dumps({"harbour": f"Oslo {number}"})}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "2.1 m"})
    messages.append({"role": "user", "content": "And now?"})
    return messages


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "description": "The tide.",
            "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}},
        },
    }
]


# --- ours ---------------------------------------------------------------------------------


def our_encoding(messages: list[dict[str, Any]]) -> tuple[Figures, Figures]:
    """Return seconds from nothing, and with one turn changed."""
    from dataclasses import replace

    from tui_chat.model.endpoint import Endpoint, Protocol
    from tui_chat.model.namespaces import NO_SEMANTICS
    from tui_chat.model.payload import render
    from tui_chat.wire.registry import protocol_of

    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS, "stream": True}).encode()
    cold: Figures = {}
    warm: Figures = {}
    for name in PROTOCOLS:
        wire = protocol_of(Protocol(name))
        endpoint = Endpoint("e", Protocol(name), "https://e")

        def fresh() -> Any:
            envelope = protocol_of(Protocol.OPENAI_CHAT).decode(body)
            return replace(envelope, semantics=NO_SEMANTICS)

        waiting = [fresh() for _ in range(RUNS + 1)]

        def encode_new(waiting: Any = waiting, wire: Any = wire, endpoint: Any = endpoint) -> None:
            render(wire.encode(waiting.pop(), endpoint).tree)

        cold[name] = {"ours": best(encode_new)}
        known = fresh()
        render(wire.encode(known, endpoint).tree)

        def encode_again(known: Any = known, wire: Any = wire, endpoint: Any = endpoint) -> None:
            last = replace(known.turns[-1])
            changed = replace(known, turns=(*known.turns[:-1], last))
            render(wire.encode(changed, endpoint).tree)

        warm[name] = {"ours": best(encode_again)}
    return cold, warm


def our_reading(url: str) -> Figures:
    """Return the seconds it takes to read the stream of each protocol."""
    import asyncio

    from tui_chat.compose import compose
    from tui_chat.context import Inputs
    from tui_chat.model.endpoint import Endpoint, Protocol
    from tui_chat.model.preset import Preset
    from tui_chat.send import receive
    from tui_chat.transport import Transport

    def measured(name: str) -> float:
        to = Endpoint("e", Protocol(name), f"{url}/{name}", models=("m",))
        composed = compose(Inputs(to, Preset("p"), draft="go"))

        async def all_runs() -> float:
            transport = Transport()

            async def read() -> None:
                replies: list[Any] = [None]

                def grown(reply: Any) -> None:
                    replies[0] = reply

                await receive(composed, transport, grown, print)
                assert len(replies[0].text) > 1000

            return await best_of(read, transport.aclose)

        return asyncio.run(all_runs())

    return {name: {"ours": measured(name)} for name in PROTOCOLS}


async def best_of(
    read: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]
) -> float:
    """Return the seconds of the quickest run of a coroutine."""
    await read()
    seconds: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        await read()
        seconds.append(time.perf_counter() - began)
    await close()
    return min(seconds)


# --- the official SDKs --------------------------------------------------------------------


def sdk_reading(url: str) -> Figures:
    """Return the seconds that the official SDKs take, with their own accumulators."""
    import anthropic
    import openai
    from google import genai
    from google.genai import types

    chat = openai.OpenAI(api_key="k", base_url=f"{url}/openai_chat", max_retries=0)
    responses = openai.OpenAI(api_key="k", base_url=f"{url}/openai_responses", max_retries=0)
    messages = anthropic.Anthropic(api_key="k", base_url=f"{url}/anthropic", max_retries=0)
    gemini = genai.Client(
        api_key="k",
        http_options=types.HttpOptions(base_url=f"{url}/gemini", api_version="v1beta"),
    )
    said: Any = [{"role": "user", "content": "go"}]

    def read_chat() -> None:
        with chat.chat.completions.stream(model="m", messages=said) as stream:
            assert len(stream.get_final_completion().choices[0].message.content or "") > 1000

    def read_responses() -> None:
        with responses.responses.stream(model="m", input=said) as stream:
            assert len(stream.get_final_response().output_text) > 1000

    def read_messages() -> None:
        with messages.messages.stream(model="m", messages=said, max_tokens=9) as stream:
            assert len(stream.get_final_text()) > 1000

    def read_gemini() -> None:  # this SDK has no accumulator: its user joins the chunks
        chunks = gemini.models.generate_content_stream(model="m", contents="go")
        assert len("".join(chunk.text or "" for chunk in chunks)) > 1000

    works = (read_chat, read_responses, read_messages, read_gemini)
    return {name: {"SDK": best(work)} for name, work in zip(PROTOCOLS, works, strict=True)}


# --- litellm, in its own environment -------------------------------------------------------


def litellm_figures(url: str, messages: list[dict[str, Any]]) -> tuple[Figures, Figures]:
    """Return seconds of encoding and of reading; runs where litellm is installed."""
    import copy

    import litellm

    litellm.suppress_debug_info = True
    encoding: Figures = {}
    reading: Figures = {}

    def tried(figures: Figures, name: str, work: Callable[[], object]) -> None:
        try:
            figures[name] = {"litellm": best(work)}
        except Exception as error:
            figures[name] = {"litellm": f"{type(error).__name__}: {error}"[:160]}

    def chat() -> None:
        from litellm.llms.openai.chat.gpt_transformation import OpenAIGPTConfig

        given = copy.deepcopy(messages)
        json.dumps(OpenAIGPTConfig().transform_request("gpt-4o", given, {"tools": TOOLS}, {}, {}))

    def responses() -> None:
        from litellm.completion_extras.litellm_responses_transformation.transformation import (
            LiteLLMResponsesTransformationHandler,
        )

        given = copy.deepcopy(messages)
        handler = LiteLLMResponsesTransformationHandler()
        json.dumps(handler.convert_chat_completion_messages_to_responses_api(given))

    def anthropic() -> None:
        from litellm.llms.anthropic.chat.transformation import AnthropicConfig

        given = copy.deepcopy(messages)
        config = AnthropicConfig()
        optional = config.map_openai_params(
            {"tools": TOOLS, "max_tokens": 9}, {}, "claude-sonnet-4-5", drop_params=False
        )
        json.dumps(config.transform_request("claude-sonnet-4-5", given, optional, {}, {}))

    def gemini() -> None:
        from litellm.llms.vertex_ai.gemini.transformation import (
            _gemini_convert_messages_with_history,
        )

        json.dumps(_gemini_convert_messages_with_history(messages=copy.deepcopy(messages)))

    for name, work in zip(PROTOCOLS, (chat, responses, anthropic, gemini), strict=True):
        tried(encoding, name, work)

    said = [{"role": "user", "content": "go"}]

    def read(model: str, base: str) -> Callable[[], None]:
        def work() -> None:
            chunks = list(
                litellm.completion(
                    model=model, messages=said, stream=True, api_base=base, api_key="k"
                )
            )
            whole: Any = litellm.stream_chunk_builder(chunks, messages=said)
            assert len(whole.choices[0].message.content) > 1000

        return work

    def read_responses() -> None:
        text = ""
        for event in litellm.responses(
            model="openai/gpt-4o", input="go", stream=True, api_base=f"{url}/openai_responses",
            api_key="k",
        ):  # fmt: skip
            if getattr(event, "type", "") == "response.output_text.delta":
                text += event.delta
        assert len(text) > 1000

    tried(reading, "openai_chat", read("openai/m", f"{url}/openai_chat"))
    tried(reading, "openai_responses", read_responses)
    tried(reading, "anthropic", read("anthropic/claude-sonnet-4-5", f"{url}/anthropic"))
    tried(reading, "gemini", read("gemini/gemini-2.5-flash", f"{url}/gemini/v1beta/models"))
    return encoding, reading


def litellm_python(folder: Path) -> str:
    """Make an environment with litellm; returns its interpreter."""
    place = folder / "litellm"
    subprocess.run(["uv", "venv", "-q", str(place)], check=True)
    python = str(place / "bin" / "python")
    subprocess.run(["uv", "pip", "install", "-q", "--python", python, *LITELLM], check=True)
    return python


# --- what is read, and the table ------------------------------------------------------------


def streams(tokens: int) -> dict[str, bytes]:
    """Return what the offline provider streams, for each protocol."""
    import asyncio

    import httpx

    from tui_chat.compose import compose
    from tui_chat.config import BUILT_IN_ENDPOINTS
    from tui_chat.context import Inputs, Settings
    from tui_chat.loopback import LoopbackTransport
    from tui_chat.model.preset import Preset

    async def stream_of(endpoint: Any) -> bytes:
        settings = Settings(model=f"lorem:max:{tokens}", max_tokens=2 * tokens)
        asked = compose(Inputs(endpoint, Preset("p"), draft="go", settings=settings))
        async with httpx.AsyncClient(transport=LoopbackTransport()) as client:
            answer = await client.post(
                asked.url, content=asked.payload.body, headers=dict(asked.headers)
            )
            return answer.content

    return {
        endpoint.protocol.value: asyncio.run(stream_of(endpoint))
        for endpoint in BUILT_IN_ENDPOINTS[:4]
    }


def serve_streams(folder: Path) -> subprocess.Popen[str]:
    """Start a process that answers every POST with the file of the path's first part."""
    code = (
        "import http.server, pathlib, sys\n"
        "files = {p.name: p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir()}\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    protocol_version = 'HTTP/1.1'\n"
        "    def do_POST(self):\n"
        "        self.rfile.read(int(self.headers.get('content-length') or 0))\n"
        "        body = files[self.path.split('/')[1]]\n"
        "        self.send_response(200)\n"
        "        self.send_header('content-type', 'text/event-stream')\n"
        "        self.send_header('content-length', str(len(body)))\n"
        "        self.end_headers()\n"
        "        self.wfile.write(body)\n"
        "    def log_message(self, *_): pass\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)\n"
        "print(server.server_address[1], flush=True)\n"
        "server.serve_forever()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )


def joined(*all_figures: Figures) -> Figures:
    """Return the figures of several, protocol by protocol."""
    found: Figures = {name: {} for name in PROTOCOLS}
    for figures in all_figures:
        for name, told in figures.items():
            found[name] |= told
    return found


def show(title: str, figures: Figures, amount: dict[str, float], unit: str) -> None:
    """Print how much each did in a second, and how that compares with ours."""
    print(f"\n{title}")
    for name in PROTOCOLS:
        ours = figures[name]["ours"]
        assert isinstance(ours, float)
        cells: list[str] = []
        for who, seconds in figures[name].items():
            if isinstance(seconds, str):
                cells.append(f"{who}: {seconds}")
                continue
            ratio = "" if who == "ours" else f" (ours is {seconds / ours:.1f} times as fast)"
            cells.append(f"{who} {amount[name] / seconds:,.1f} {unit}{ratio}")
        print(f"  {name:<17} {'; '.join(cells)}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="Encode and read throughput per protocol.")
    options.add_argument("--litellm", action="store_true", help="install it and measure it too")
    options.add_argument("--litellm-python", default="", help="an interpreter that has it")
    options.add_argument("--turns", type=int, default=400)
    options.add_argument("--tokens", type=int, default=5_000)
    options.add_argument("--only-litellm", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    messages = conversation(given.turns)
    if given.only_litellm:
        url, place = given.only_litellm
        Path(place).write_text(json.dumps(litellm_figures(url, messages)), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies = streams(given.tokens)
        (folder / "streams").mkdir()
        for protocol, body in bodies.items():
            (folder / "streams" / protocol).write_bytes(body)
        server = serve_streams(folder / "streams")
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            cold, warm = our_encoding(messages)
            reading = joined(our_reading(url), sdk_reading(url))
            if given.litellm or given.litellm_python:
                python = given.litellm_python or litellm_python(folder)
                place = folder / "litellm.json"
                subprocess.run(
                    [python, __file__, "--turns", str(given.turns), "--only-litellm", url,
                     str(place)],
                    check=True, stderr=subprocess.DEVNULL,
                    env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
                )  # fmt: skip
                theirs = json.loads(place.read_text(encoding="utf-8"))
                cold, reading = joined(cold, theirs[0]), joined(reading, theirs[1])
        finally:
            server.terminate()
            server.wait()
    count = {name: float(len(messages)) for name in PROTOCOLS}
    size = {name: len(body) / 1e6 for name, body in bodies.items()}
    show(f"Encoding {len(messages)} messages, none seen before", cold, count, "messages/s")
    show("Encoding them again with one changed", warm, count, "messages/s")
    total = ", ".join(f"{name} {size[name]:.1f} MB" for name in PROTOCOLS)
    show(f"Reading a streamed reply ({total})", reading, size, "MB/s")


if __name__ == "__main__":
    main()
