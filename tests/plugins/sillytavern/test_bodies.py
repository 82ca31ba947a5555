"""Bodies against SillyTavern's conversions and captured requests."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.requests import ANTHROPIC, GEMINI, body_of, decoded, encoded
from tests.support.tables import each_row
from tui_chat.cli import main
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.sillytavern.cases import write_folder
from tui_chat.plugins.sillytavern.context.post_processing import system_as_user, system_first

HERE = Path(__file__).parents[3]
CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", HERE.parent / "shared" / "corpus"))
CONVERSIONS = sorted((CORPUS / "sillytavern" / "converters-dev").glob("*.json"))
PAYLOADS = sorted((CORPUS / "sillytavern" / "payloads").glob("*.json"))
BODIES = {ANTHROPIC: "claude", GEMINI: "google"}
_GROUP = "It has the names of a group chat, which there is none of here."
_PREFILL = "The beginning of the reply is a turn of the builder, not one of these messages."
DIFFERENT = {
    ("008-empty", "claude"): "Nothing is added to a request without messages; a note says so.",
    ("014-names-already-prefixed", "claude"): "A name that begins the text is not written twice.",
    ("017-group-names", "claude"): _GROUP,
    ("017-group-names", "google"): _GROUP,
    ("019-image-assistant", "claude"): "A picture of the model is left out, with a note: Anthropic "
    "takes none from it. SillyTavern gives it to the user.",
    ("022-tools-off", "claude"): "Calls stay calls where the request names no tools.",
    ("023-empty-contents", "claude"): "An empty message, which the builder never sends, is a dot.",
    ("027-prefill-nosys", "claude"): _PREFILL,
    ("claude-opus47-nosampling", "payload"): _PREFILL,
    ("claude-sonnet45-prefill", "payload"): _PREFILL,
}
"""By case and provider: why the content differs."""

Said = tuple[str, str]
"""A role and a text, white space made single."""


def said(pieces: Iterable[Said]) -> list[Said]:
    """Return the texts, those of one role after another as one."""
    found: list[Said] = []
    for role, text in pieces:
        words = " ".join(text.split())
        if words and found and found[-1][0] == role:
            found[-1] = role, f"{found[-1][1]} {words}"
        elif words:
            found.append((role, words))
    return found


def pieces(body: Any) -> Iterator[Said]:
    """Yield the texts of a body of Anthropic or Gemini."""
    system = body.get("system") or body.get("systemPrompt") or []
    system = [{"text": system}] if isinstance(system, str) else system
    google = body.get("system_instruction") or body.get("systemInstruction") or {}
    for block in (*system, *google.get("parts", ())):
        yield "system", block["text"]
    for message in body.get("messages", body.get("contents", [])):
        role = "assistant" if message["role"] == "model" else message["role"]
        content = message.get("content", message.get("parts"))
        for block in [{"text": content}] if isinstance(content, str) else content:
            yield role, _text(block)


def _text(block: dict[str, Any]) -> str:
    if "text" in block:
        return block["text"]
    call = block.get("functionCall") or (block if block.get("type") == "tool_use" else None)
    if call is not None:
        return f"call {call['name']} {json.dumps(call.get('args', call.get('input')))}"
    if "functionResponse" in block:
        response = block["functionResponse"]["response"]
        return f"result {next(value for key, value in response.items() if key != 'name')}"
    if block.get("type") == "tool_result":
        return f"result {block['content']}"
    return "a picture"


def ours(
    messages: list[Any], protocol: Protocol, names: dict[str, Any], *, as_user: bool
) -> list[Said]:
    """Return what our body for the messages says."""
    envelope = decoded({"model": "m", "messages": messages})
    turns = system_first(envelope.turns, names["userName"], names["charName"])
    turns = system_as_user(turns) if as_user else turns
    return said(pieces(body_of(encoded(replace(envelope, turns=tuple(turns)), protocol))))


@pytest.mark.skipif(not CONVERSIONS, reason="the corpus is not here")
@pytest.mark.parametrize("protocol", BODIES)
def test_conversions(protocol: Protocol):
    different: list[str] = []
    for path in CONVERSIONS:
        case = json.loads(path.read_text("utf-8"))
        as_user = not case["options"]["use_sysprompt"]
        found = ours(case["input_messages"], protocol, case["names"], as_user=as_user)
        if found != said(pieces(case[BODIES[protocol]])):
            different.append(path.stem)
    assert different == sorted(name for name, by in DIFFERENT if by == BODIES[protocol])


@pytest.mark.skipif(not PAYLOADS, reason="the corpus is not here")
def test_payloads():
    different: list[str] = []
    for path in PAYLOADS:
        case = json.loads(path.read_text("utf-8"))
        request, wire = case["st_request"], case["wire"]
        protocol = ANTHROPIC if path.stem.startswith("claude") else GEMINI
        if not path.stem.startswith(("claude", "gemini")):
            continue  # OpenAI's bodies are compared with the captures
        names = {"userName": request["user_name"], "charName": request["char_name"]}
        as_user = not request.get("use_sysprompt")
        found = ours(request["messages"], protocol, names, as_user=as_user)
        if found != said(pieces(wire["body"])):
            different.append(path.stem)
    assert different == sorted(name for name, by in DIFFERENT if by == "payload")


# --- Every captured request of SillyTavern, by way of the user's folder: import, then build


CAPTURED = sorted((CORPUS / "sillytavern" / "dev").glob("*.json"))
UNEQUAL = {
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


@pytest.mark.skipif(not CAPTURED, reason="the corpus is not here")
@each_row("path", CAPTURED, ids=lambda path: path.stem, absent="there is no corpus here")
def test_an_imported_folder_builds_the_captured_request(
    path: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
):
    case = json.loads(path.read_text("utf-8"))
    messages = built_messages(case, tmp_path, capsysbinary)
    if path.stem in UNEQUAL:
        assert messages != case["messages"], "it is equal now"
    else:
        assert messages == case["messages"]
