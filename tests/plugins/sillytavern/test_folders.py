"""Every captured request of SillyTavern, by way of the user's folder: import, then build."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.cli import main
from tui_chat.plugins.sillytavern.cases import write_folder

HERE = Path(__file__).parents[3]
CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", HERE.parent / "shared" / "corpus"))
CASES = sorted((CORPUS / "sillytavern" / "dev").glob("*.json"))
DIFFERENT = {
    "112-macros-format-vars-legacy": "The legacy macro engine, which sets variables first.",
    "117-macros-nested": "A field of a card may contain others and the profile.",
    "237-macros-arg-forms": "Macros with operators: {{.b = 5}}, {{.c ?? dflt}}.",
}


def run(
    home: Path, capsysbinary: pytest.CaptureFixture[bytes], *words: str, faults: bool = False
) -> tuple[bytes, bytes]:
    """Run a command and return what it printed; with `faults` it may have some."""
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        folders = ("--config-dir", str(home), "--data-dir", str(home / "data"))
        patch.setattr(sys, "argv", ["tui-chat", *folders, *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        try:
            main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    out, err = capsysbinary.readouterr()
    assert code == 0 or faults, err.decode()
    return out, err


def built_messages(case: Any, home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> list[Any]:
    """Import a case as a folder of SillyTavern, and return the messages of its request."""
    folder = write_folder(case, home / "default-user")
    printed, _ = run(home, capsysbinary, "import", "--json", str(folder))
    (session,) = json.loads(printed)[0]["session_ids"]
    kind = case["generation_type"]
    draft = case["user_input"] if kind == "normal" else ""
    if kind == "quiet":
        draft = case["generate_options"]["quiet_prompt"]
    model = case["oracle"]["tokenizer"] or "gpt-4o"
    words = ("--session", session, draft, "--kind", kind, "--model", model)
    body, _ = run(home, capsysbinary, "build", "--endpoint", "openai", *words, faults=True)
    return json.loads(body)["messages"]


@pytest.mark.skipif(not CASES, reason="the corpus is not here")
@each_row("path", CASES, ids=lambda path: path.stem, absent="there is no corpus here")
def test_an_imported_folder_builds_the_captured_request(
    path: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
):
    case = json.loads(path.read_text("utf-8"))
    messages = built_messages(case, tmp_path, capsysbinary)
    if path.stem in DIFFERENT:
        assert messages != case["messages"], "it is equal now"
    else:
        assert messages == case["messages"]
