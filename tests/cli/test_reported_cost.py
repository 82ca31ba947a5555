"""The cost that a provider reports with a reply goes before any price."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import Provider, events

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
PRICES = "[models.m.prices]\ninput = 2.0\noutput = 2.0\n"
REPORTED = table("reported_cost")
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
