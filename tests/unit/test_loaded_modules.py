"""What a program loads: composing a request needs no network and no screen, and the first frame of
the app waits for neither a store nor an HTTP client. The contracts of pyproject.toml hold the rest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support.tables import each_row

COMPOSE_A_REQUEST = """
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset
for protocol in Protocol:
    endpoint = Endpoint("e", protocol, "https://e.invalid", models=("gpt-4o",))
    composed = compose(Inputs(endpoint, Preset("p"), draft="hello"))
    assert b"hello" in composed.payload.body and composed.payload.text
"""
READ_NO_CONFIG = """
from pathlib import Path
from tui_chat.config import load_config
load_config(Path("/nowhere"), Path("/nowhere"), {}, {})
"""


@pytest.mark.slow
@each_row(
    ("program", "needed", "unwanted"),
    [
        (
            COMPOSE_A_REQUEST,
            ["tui_chat.compose", "tui_chat.protocols.gemini.encode"],
            ["httpx", "textual", "rich", "aiosqlite", "sqlite3", "asyncio", "socket", "ssl",
             "random", "secrets", "platformdirs", "click", "tui_chat.store", "tui_chat.providers"],
        ),
        (
            "import tui_chat.ui.app",
            ["textual"],
            ["tui_chat.context", "tui_chat.protocols", "tui_chat.store", "tui_chat.providers",
             "tui_chat.workspace.workspace", "tui_chat.ui.inspector.pane",
             "tui_chat.ui.presets.pane", "tui_chat.ui.dialogs.base", "httpx", "aiosqlite"],
        ),
        (
            "import tui_chat.ui.app, tui_chat.workspace.workspace, tui_chat.store",
            ["tui_chat.workspace.exchange"],
            ["pydantic"],
        ),
        ("import tui_chat.store", ["tui_chat.store"], ["sqlite3", "aiosqlite"]),
        (READ_NO_CONFIG, ["tui_chat.config"], ["pydantic", "httpx", "asyncio"]),
    ],
    ids=["composing", "the app", "the whole app", "the store", "reading no file"],
)  # fmt: skip
def test_a_program_loads_what_it_needs_and_no_more(
    program: str, needed: Sequence[str], unwanted: Sequence[str]
) -> None:
    script = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert set(needed) <= loaded
    assert not loaded & set(unwanted)
