"""What the command line says of itself: `--help`, `docs`, completion; late imports of commands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from tests.support.command_line import Run
from tests.support.command_tree import subcommands
from tests.support.tables import each_row
from tui_chat import hooks
from tui_chat.cli.commands import cli
from tui_chat.cli.completion import SHELLS, VARIABLE
from tui_chat.cli.docs import SCHEMAS
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.hooks import built_in_plugins
from tui_chat.paths import bundled

HEADINGS = ("Chat", "Requests", "Data", "Setup")


def test_each_command_stands_under_one_heading(run: Run):
    done = run("--help")
    assert done.code == 0
    sections = dict(re.findall(r"^(\w+):\n((?:(?:  .*)?\n)+)", done.out, re.MULTILINE))
    assert [name for name in sections if name != "Options"] == [*HEADINGS]
    names = {name: re.findall(r"^  (\w+)", sections[name], re.MULTILINE) for name in HEADINGS}
    every = [each for name in HEADINGS for each in names[name]]
    assert len(every) == len({*every})
    for name, some in (
        ("Chat", "ask sessions"),
        ("Requests", "build tap convert"),
        ("Data", "import export db library"),
        ("Setup", "config keys doctor models mcp"),
    ):
        assert {*some.split()} <= {*names[name]}, name
    assert "Commands:" in run("sessions", "--help").out


def commands(command: click.Command, path: str = "tui-chat") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that are not groups, with their names."""
    if isinstance(command, click.Group):
        for name, each in subcommands(command).items():
            yield from commands(each, f"{path} {name}")
    else:
        yield path, command


EXAMPLES = [
    (path, example.strip())
    for path, command in commands(cli)
    for example in re.findall(r"^ *.*tui-chat [a-z].*$", command.help or "", re.M)
]


def test_every_command_has_an_example():
    assert {path for path, _ in commands(cli)} - {path for path, _ in EXAMPLES} == set()


@each_row("path, example", EXAMPLES)
def test_every_example_can_be_parsed(path: str, example: str, tmp_path, monkeypatch):
    """An example of another command is one, too: `ask -s "$(tui-chat sessions fork ...)"`."""
    monkeypatch.chdir(tmp_path)
    Path("cases").mkdir()
    for found in re.findall(r"tui-chat (.*)", re.sub(r'"?\$\([^)]*\)"?', "x", example)):
        line = re.split(r"[|<>;)]|   \(", found)[0]
        command, context, words = cli, click.Context(cli), shlex.split(line)
        while isinstance(command, click.Group):
            name, command, words = command.resolve_command(context, words)
            assert command is not None
            context = click.Context(command, parent=context)
        command.make_context(name, words, parent=context.parent)


def test_the_list_of_commands_says_what_their_help_says():
    for group in (cli, *subcommands(cli).values()):
        if isinstance(group, LazyGroup):
            for name, summary in group.summaries(click.Context(group)).items():
                command = group.get_command(click.Context(group), name)
                assert (command.name, command.get_short_help_str(limit=200)) == (name, summary)


# --- `tui-chat docs` ----------------------------------------------------------------------


def test_it_lists_the_pages_for_users_with_their_titles(run: Run):
    done = run("docs")
    assert done.code == 0
    listed = {line.split()[0]: line for line in done.out.splitlines()}
    assert set(listed) == {path.stem for path in bundled("docs").glob("*.md")}
    assert "The tap: other programs' requests" in listed["tap"]
    assert "decisions" not in listed


def test_it_prints_a_page_as_it_is_to_a_pipe(run: Run):
    page = (bundled("docs") / "tap.md").read_text("utf-8")
    assert run("docs", "tap").out == page
    assert run("docs", "TAP.md").out == page


def test_an_unknown_page_names_similar_ones(run: Run):
    done = run("docs", "preset")
    assert done.code == 2
    assert "There is no page “preset”." in done.err
    assert "presets" in done.err
    assert run("docs", "../README").code == 2


def test_each_document_has_a_schema(run: Run):
    schemas = {name: json.loads(run("docs", "--schema", name).out) for name in SCHEMAS}
    assert all(schema["type"] == "object" and schema["description"] for schema in schemas.values())
    assert {"session_id", "content", "usage", "error"} <= {*schemas["ask"]["required"]}


# --- Completion of the command line, answered for every shell and tried in real ones ------


Complete = Callable[..., list[str]]


@pytest.fixture
def complete(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Return a function that completes the last of some words in a shell."""

    def call(*words: str, shell: str = "bash") -> list[str]:
        folders = ("--config-dir", str(tmp_path), "--data-dir", str(tmp_path))
        line = ["tui-chat", *folders, *words]
        monkeypatch.setenv(VARIABLE, f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", "\n".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        done = run()
        monkeypatch.delenv(VARIABLE)
        assert (done.code, done.err) == (0, "")
        return [line for line in done.out.splitlines() if line]

    return call


def test_commands_and_options(complete: Complete):
    assert "plain,build" in complete("bui")
    assert "plain,--preset" in complete("ask", "--pre")
    assert complete("completion", "f") == ["plain,fish"]


@each_row("shell", SHELLS)
def test_the_script_of_a_shell_is_printed(shell: str, run: Run):
    done = run("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert VARIABLE in done.out
    assert "%" not in done.out
    assert run("completion", "tcsh").code == 2


# --- Commands are imported when they run; listing and completing their names imports none -


PROGRAM = """
import sys
from tui_chat.cli import main
try:
    main()
except SystemExit:
    pass
print("imported", *(name for name in sys.modules if name.startswith("tui_chat.")))
"""


def imported(folder: Path, *words: str) -> set[str]:
    """Return our modules that a command line imports."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--config-dir", folder, "--data-dir", folder, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
@each_row("words", [("--help",), ("--version",), ("no-such-command",)])
def test_the_list_of_commands_imports_none(tmp_path: Path, words: tuple[str, ...]):
    modules = {entry.path.partition(":")[0] for entry in cli.table.values()}
    assert imported(tmp_path, *words) & modules == {"tui_chat.cli.completion"}


@pytest.mark.slow
def test_a_command_imports_its_own_module_and_no_screen(tmp_path: Path):
    modules = {entry.path.partition(":")[0] for entry in cli.table.values()}
    found = imported(tmp_path, "ask", "--help")
    assert found & modules == {"tui_chat.cli.ask", "tui_chat.cli.completion"}
    # The manifests name the kinds of generation, and the configuration has the endpoints of an
    # offline provider; nothing else of a plugin is imported.
    manifests = {f"tui_chat.plugins.{plugin.name}" for plugin in built_in_plugins()}
    manifests |= {part.path.partition(":")[0] for _, part in hooks.parts_at("offline provider")}
    others = found - manifests
    assert not {name for name in others if name.startswith(("tui_chat.ui", "tui_chat.plugins."))}
