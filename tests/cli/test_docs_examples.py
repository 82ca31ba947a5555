"""Every command and configuration that README and docs show works; links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.exports import ROOT as ROOT_NODE
from tests.support.exports import chatgpt, node
from tests.support.plugins import is_deleted
from tests.support.tables import each_row
from tui_chat.config import load_config

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = {
    "python3 -m venv": "makes an environment: CI runs it as it stands",
    "pip install": "makes an environment",
    "export OPENAI_API_KEY": "sets a key",
    "tui-chat serve": "serves until it is stopped: see tests/plugins/web",
    "tui-chat tap": "waits for another program, or starts one: see tests/plugins/tap",
    "tui-chat": "opens the screen: see tests/e2e",
}
"""Lines that are not run, and why; the last one only as a whole line."""
REPLACED = {
    "--model gpt-5": "--model echo",
    "SillyTavern/data/default-user\n": "sample_presets/cards\n",
    '"Three fruits" --schema': "'{}' --model echo --schema",
}
"""What the examples name that would need a network, and what is used instead."""


def blocks(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the code blocks of a language: name of the page, text."""
    for page in PAGES:
        for text in re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M):
            yield page.name, text


def lines(block: str) -> Iterator[str]:
    """Yield the commands of a block, without comments and those that are not run."""
    for line in block.replace("\\\n", " ").splitlines():
        command = re.sub(r"\s+#.*$", "", line).strip()
        skipped = command == "tui-chat" or any(
            command.startswith(words) for words in NOT_RUN if words != "tui-chat"
        )
        if command and not command.startswith("#") and not skipped:
            yield command


def provide_files(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with the files that the examples name, and a home with the session “A walk”."""
    monkeypatch.chdir(folder)
    for name in [each for each in os.environ if each.startswith(("XDG_", "TUI_CHAT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    question = {"role": "user", "content": "The garden by the north wall?"}
    Path("chat.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    conversation = chatgpt(
        node(ROOT_NODE, None, children=("a",)),
        node("a", ROOT_NODE, "user", question["content"], children=("b",)),
        node("b", "a", "assistant", "It has roses."),
    )
    with zipfile.ZipFile("chatgpt.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
    assert run("import", "chatgpt.zip").code == 0
    preset = json.dumps({"presetMessages": [{"id": "history", "type": "chat_history"}]})
    Path("my.json").write_text(preset)
    case = next(
        text for page, text in blocks("json") if page == "presets.md" and "expected" in text
    )
    for name, text in (("presets", preset), ("cases", case)):
        Path(name).mkdir()
        Path(name, "one.json").write_text(text)
    subprocess.run(["git", "init", "-q"], check=True)
    Path("question.txt").write_text("Why?")
    Path("photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    Path("fruits.json").write_text('{"type": "object", "properties": {}}')
    shutil.copytree(ROOT / "sample_presets", "sample_presets")
    # The suite that the app made, and the repository that it is copied to.
    in_shell(next(text for _, text in blocks("sh") if "<<" in text), folder)
    home = Path(run("config", "path").out.strip()).parent
    for place in ("presets/tutor.json", "cases/tutor.eval.json"):
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("prompts", place.removeprefix("presets/")), home / place)


def in_shell(script: str, folder: Path) -> None:
    """Run a script to its end in a shell."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, (script, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the examples are for a POSIX shell")
@each_row("page, block", list(blocks("sh")))
def test_every_command_works(page: str, block: str, tmp_path, run, monkeypatch):
    for words, instead in REPLACED.items():
        block = block.replace(words, instead)
    commands = [block] if "<<" in block else [*lines(block)]
    if commands:
        provide_files(tmp_path, run, monkeypatch)
    for command in commands:
        program, *words = shlex.split(command)
        if program in ("cat", "cp", "mkdir") or re.search(r"[|<>$;&]", command):
            in_shell(command, tmp_path)
            continue
        assert program == "tui-chat", command
        found = run(*words)
        assert found.code == 0, (command, found.out, found.err)


@each_row("page", sorted({page for page, _ in blocks("toml")}))
def test_every_configuration_is_accepted(page: str, tmp_path: Path):
    """The examples of a page are one file: later ones add to earlier ones."""
    texts = [text for each, text in blocks("toml") if each == page]
    assert all(tomllib.loads(text) for text in texts)
    tables = {name for text in texts for name in tomllib.loads(text)}
    if "mcp" in tables and is_deleted("mcp"):
        pytest.skip("a plugin that is not here has a table of this page")
    (tmp_path / "config.toml").write_text("\n".join(texts), encoding="utf-8")
    config = load_config(tmp_path, tmp_path, {}, {})
    assert config.endpoints


@each_row("page", PAGES)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target
