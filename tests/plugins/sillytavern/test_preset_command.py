"""The command presets with presets of SillyTavern."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run
from tui_chat.paths import bundled


def test_bundled_presets_have_no_findings(run: Run):
    ours = bundled("sample_presets")
    assert len(list(ours.glob("*.json"))) >= 6
    done = run("preset", "check", ours, ours / "lorebooks")
    assert (done.code, done.out) == (0, "")


def test_the_sample_card_goes_where_the_sample_preset_has_it(run: Run, tmp_path: Path):
    home = ("--config-dir", tmp_path / "config", "--data-dir", tmp_path / "data")
    card = bundled("sample_presets") / "cards" / "ines-varga.json"
    assert run(*home, "import", card).code == 0
    words = ("--preset", "character", "What do the flags say?")
    done = run(*home, "build", "--role", "Ines Varga", *words)
    first, *rest = (message["content"] for message in json.loads(done.out)["messages"])
    assert first.endswith(
        "User's own. Ines Varga never speaks of the night nine years ago unless the lamp is out."
    )
    starts = ["Signal flags: ", "Ines Varga, 58, keeps", "Ines Varga's manner: ", "The scene: "]
    assert all(text.startswith(start) for start, text in zip(starts, rest, strict=False))
    assert "The hatch opens before you knock." in done.out
    other = run(*home, "build", "--role", "Assistant", *words)
    assert "The hatch" not in other.out
