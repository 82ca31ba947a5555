"""Every command and example of the README and of docs/ works; every link leads somewhere."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.interop.exports import ROOT as ROOT_NODE
from tests.interop.exports import chatgpt, node
from tests.support.command_line import Run
from tests.support.command_line import run as run  # the fixture
from tests.support.command_tree import subcommands
from tui_chat.cli.commands import cli
from tui_chat.config import load_config
from tui_chat.extensions import missing_plugin

ROOT = Path(__file__).parents[1]
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


def blocks(kind: str) -> Iterator[tuple[Path, int, str]]:
    """Yield the code blocks of a language: page, number in it, text."""
    for page in PAGES:
        found = re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M)
        yield from ((page, number, text) for number, text in enumerate(found, 1))


def parameters(kind: str) -> list[object]:
    return [pytest.param(text, id=f"{page.name}-{n}") for page, n, text in blocks(kind)]


def lines(block: str) -> Iterator[str]:
    """Yield the commands of a block, without comments and those that are not run."""
    for line in block.replace("\\\n", " ").splitlines():
        command = re.sub(r"\s+#.*$", "", line).strip()
        skipped = command == "tui-chat" or any(
            command.startswith(words) for words in NOT_RUN if words != "tui-chat"
        )
        if command and not command.startswith("#") and not skipped:
            yield command


@pytest.fixture
def folder(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name, and a home with the session “A walk”."""
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith(("XDG_", "TUI_CHAT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
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
    case = next(text for page, _, text in blocks("json") if page.name == "recipes.md")
    for name, text in (("presets", preset), ("cases", case)):
        Path(name).mkdir()
        Path(name, "one.json").write_text(text)
    subprocess.run(["git", "init", "-q"], check=True)
    Path("question.txt").write_text("Why?")
    Path("photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    Path("fruits.json").write_text('{"type": "object", "properties": {}}')
    shutil.copytree(ROOT / "sample_presets", "sample_presets")
    # The suite that the app made, and the repository that it is copied to.
    in_shell(next(text for _, _, text in blocks("sh") if "<<" in text), tmp_path)
    presets = Path(run("presets", "path").out.strip())
    for place in ("presets/tutor.json", "cases/tutor.eval.json"):
        (presets.parent / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("prompts", place.removeprefix("presets/")), presets.parent / place)
    return tmp_path


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
@pytest.mark.parametrize("block", parameters("sh"))
def test_every_command_works(block: str, folder: Path, run: Run):
    for words, instead in REPLACED.items():
        block = block.replace(words, instead)
    for command in (block,) if "<<" in block else lines(block):
        program, *words = shlex.split(command)
        if program in ("cat", "cp", "mkdir") or re.search(r"[|<>$;&]", command):
            in_shell(command, folder)
            continue
        assert program == "tui-chat", command
        found = run(*words)
        assert found.code == 0, (command, found.out, found.err)


def test_what_is_not_run_is_there():
    """A line that is no longer in the pages needs no exception."""
    everything = "\n".join(text for _, _, text in blocks("sh"))
    for words in NOT_RUN:
        assert words in everything


@pytest.mark.parametrize(
    "page", sorted({page for page, _, _ in blocks("toml")}), ids=lambda page: page.name
)
def test_every_configuration_is_accepted(page: Path, tmp_path: Path):
    """The examples of a page are one file: later ones add to earlier ones."""
    texts = [text for each, _, text in blocks("toml") if each == page]
    assert all(tomllib.loads(text) for text in texts)
    tables = {name for text in texts for name in tomllib.loads(text)}
    if any(missing_plugin("config", name) for name in tables):
        pytest.skip("a plugin that is not here has a table of this page")
    (tmp_path / "config.toml").write_text("\n".join(texts), encoding="utf-8")
    config = load_config(tmp_path, tmp_path, {}, {})
    assert config.endpoints


@pytest.mark.parametrize("text", parameters("json"))
def test_every_json_example_can_be_parsed(text: str):
    assert json.loads(text)


def inline_commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.S | re.M)
        for found in re.findall(r"`tui-chat ([a-z][^`]*)`", text):
            yield page.name, found


@pytest.mark.parametrize(("page", "words"), sorted(set(inline_commands())))
def test_commands_in_sentences_exist(page: str, words: str):
    command: click.Command = cli
    options: set[str] = set()
    for word in words.split():
        options |= {name for each in command.params for name in each.opts + each.secondary_opts}
        command = subcommands(command).get(word, command)
    if missing_plugin("commands", words.split()[0]):
        pytest.skip("its plugin was deleted")
    assert command is not cli, (page, words)
    options |= {name for each in command.params for name in each.opts + each.secondary_opts}
    assert set(re.findall(r"(?<!\S)--[a-z-]+", words)) <= {*options, "--help"}, (page, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_every_page_is_linked():
    pages = [*PAGES, ROOT / "CONTRIBUTING.md"]
    linked = set(re.findall(r"([\w-]+\.md)", "\n".join(page.read_text("utf-8") for page in pages)))
    assert {page.name for page in PAGES} - {"README.md"} <= linked


def test_the_keys_are_up_to_date():
    code = runpy.run_path(str(ROOT / "docs" / "dev" / "keys_table.py"))
    text = (ROOT / "docs" / "keys.md").read_text("utf-8")
    assert code["updated"](text) == text, "run `python docs/dev/keys_table.py`"
    assert "| Ctrl+N | `new` | New session |" in text


def test_the_readme_shows_what_strangers_need():
    """One picture, the command that installs and starts, and five commands with what they show."""
    text = (ROOT / "README.md").read_text("utf-8").partition("## Develop")[0]
    assert text.count("![") == 1
    install, commands = re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M)
    assert install.count("\n") == 1
    shown = [line.partition(" # ") for line in commands.splitlines()]
    assert len(shown) == 5
    assert all(command.startswith("tui-chat") and words for command, _, words in shown), shown
    assert "tap -- claude" in shown[0][0]
    assert (ROOT / "docs" / "screen.svg").stat().st_size < 1_000_000
    assert "<animate" in (ROOT / "docs" / "screen.svg").read_text("utf-8")
