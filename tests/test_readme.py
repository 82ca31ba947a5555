"""The README and .ci/run say the same."""

from __future__ import annotations

import re
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_both_commands_work_where_pip_must_not_touch_the_system():
    beginning = "python3 -m venv .venv && .venv/bin/pip install "
    rest = [line.removeprefix(beginning) for line in README.splitlines() if "-m venv .venv" in line]
    assert rest[:2] == [
        "-qe . && .venv/bin/tui-chat",
        "-q uv && .venv/bin/uv run pytest -n 4 --dist worksteal --assert=plain",
    ]


def test_ci_runs_the_readmes_test_command():
    marked = re.search(r"<!-- tests -->\n```sh\n(.*)\n```\n<!-- /tests -->", README)
    assert marked is not None
    assert "uv run pytest" in marked[1]
    assert "<!-- tests -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def test_the_picture_exists():
    assert (ROOT / "docs" / "screen.svg").stat().st_size > 10_000


def test_documents_name_only_existing_offline_models():
    from tui_chat.offline.models import MODELS

    names = {model.name for model in MODELS}
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    section = page.split("## Models without a network")[1].split("##")[0]
    said = {word.split(":")[0] for word in re.findall(r"`([a-z]+(?:-\w+)?[^` ]*)`", section)}
    assert said - {"loopback", "tui-chat"} <= names


def test_what_an_index_shows_leads_nowhere_else():
    shown = metadata("tui-chat").get_payload()
    assert isinstance(shown, str)
    assert "See exactly what the model will see" in shown
    assert re.findall(r"!\[|\]\((?!https?:)", shown) == []
