"""The cost that a provider reports with a reply goes before any price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tests.support.server import Provider, events

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
PRICES = "[models.m.prices]\ninput = 2.0\noutput = 2.0\n"
REPORTED: dict[str, tuple[dict[str, Any], float]] = {
    "OpenRouter": ({"cost": 0.0042, "is_byok": False, "cost_details": {}}, 0.0042),
    "OpenRouter, free": ({"cost": 0, "cost_details": {"upstream_inference_cost": 0}}, 0.0),
    "OpenRouter, small": ({"cost": 9.5e-07}, 0.00000095),
    "OpenRouter, the user's key at a provider": (
        {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
        0.21,
    ),
    "its fee alone": ({"cost": 0.01, "is_byok": True}, 2.0),
    "Perplexity": ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.3}}, 0.3),
    "xAI": ({"cost_in_usd_ticks": 125_000_000}, 0.0125),
    "none": ({}, 2.0),
    "odd": ({"cost": "0.3"}, 2.0),
    "negative": ({"cost": -1}, 2.0),
}
"""What a usage says besides its tokens, and the cost in US dollars."""


def test_a_reported_cost_is_the_replys(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for number, (name, (words, cost)) in enumerate(REPORTED.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
        bodies = [events(text, {"choices": [], "usage": {**USAGE, **words}})]
        bodies += [events({"choices": text["choices"], "usage": {**USAGE, **words}})]
        with Provider(*bodies) as provider:
            (folder / "config.toml").write_text(provider.config() + PRICES)
            base = ("--config-dir", folder, "--data-dir", folder)
            found = [json.loads(run(*base, "ask", "Hi", "--json").out)["cost"] for _ in bodies]
            summed = json.loads(run(*base, "usage", "--json").out)
        if found != [cost, cost] or float(summed[0]["cost"]) != 2 * cost:
            wrong.append((name, found, summed))
    assert not wrong, wrong
