"""Plugins: which there are, how other people's are enabled, and what happens when one fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from tests.support.program import run_program
from tui_chat import api, hooks
from tui_chat.api import Command, Plugin
from tui_chat.errors import InputError

MANIFEST = """
from tui_chat.api import Command, Format, Plugin
PLUGIN = Plugin(
    name="greeter",
    api=2,
    summary="Greets.",
    commands=(
        Command("greet", "greeter.command:greet", "Print a greeting."),
        Command("presets greet", "greeter.command:greet", "Print a greeting."),
        Command("broken", "greeter.missing:command", "Cannot be imported."),
    ),
    formats=(
        Format("cards", "greeter.command:cards", ending=".txt", summary="Greeting cards"),
    ),
)
"""
COMMAND = """
import click
@click.command()
@click.argument("name")
def greet(name):
    "Print a greeting."
    click.echo(f"Hello, {name}!")
def cards(transcript, zone):
    yield f"Hello, {transcript.session.title}!"
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder like site-packages, with a distribution that has a plugin."""
    package, info = tmp_path / "site" / "greeter", tmp_path / "site" / "greeter-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text(MANIFEST)
    (package / "command.py").write_text(COMMAND)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tui_chat.plugins]\ngreeter = greeter:PLUGIN\n")
    return tmp_path


def run(home: Path, *words: str, enabled: str = '["greeter"]') -> subprocess.CompletedProcess[str]:
    config = home / "config"
    config.mkdir(exist_ok=True)
    (config / "config.toml").write_text(f"[plugins]\nenabled = {enabled}\n")
    folders = ("--config-dir", str(config), "--data-dir", str(home / "data"))
    env = {**os.environ, "PYTHONPATH": str(home / "site"), "HOME": str(home)}
    return run_program(*folders, *words, env=env)


@pytest.mark.slow
def test_an_enabled_plugin_brings_its_command(installed: Path):
    done = run(installed, "greet", "Ines")
    assert (done.stdout, done.returncode) == ("Hello, Ines!\n", 0)
    listed = run(installed, "--help").stdout
    assert re.search(r"^  greet +Print a greeting\.$", listed, re.MULTILINE)


@pytest.mark.slow
def test_a_plugin_can_add_a_command_to_a_group(installed: Path):
    done = run(installed, "presets", "greet", "Ines")
    assert (done.stdout, done.returncode) == ("Hello, Ines!\n", 0)
    assert "greet" in run(installed, "presets", "--help").stdout
    assert "No such command 'greet'" in run(installed, "presets", "greet", "x", enabled="[]").stderr


@pytest.mark.slow
def test_an_enabled_plugin_brings_a_format_of_exports(installed: Path):
    messages = installed / "messages.json"
    messages.write_text('[{"role": "user", "content": "Ines"}]')
    assert run(installed, "import", str(messages)).returncode == 0
    done = run(installed, "export", "--format", "cards")
    assert (done.stdout, done.returncode) == ("Hello, Ines!", 0)
    assert "|cards]" in run(installed, "export", "--help").stdout
    assert "is not one of" in run(installed, "export", "--format", "cards", enabled="[]").stderr


@pytest.mark.slow
def test_a_plugin_that_is_not_enabled_is_not_imported(installed: Path):
    (installed / "site" / "greeter" / "__init__.py").write_text("raise SystemExit('imported')")
    done = run(installed, "plugins", "--json", enabled="[]")
    listed = {each["name"]: each for each in json.loads(done.stdout)}
    assert listed["greeter"]["status"] == "not enabled"
    assert "No such command 'greet'" in run(installed, "greet", "x", enabled="[]").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifest", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("PLUGIN = 3", "greeter:PLUGIN is no Plugin."),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
    ],
)
def test_a_plugin_that_fails_is_reported_and_the_rest_works(
    installed: Path, manifest: str, error: str
):
    (installed / "site" / "greeter" / "__init__.py").write_text(manifest)
    listed = {each["name"]: each for each in json.loads(run(installed, "plugins", "--json").stdout)}
    fault = {"name": "greeter", "status": "fault", "version": "1.0", "summary": error}
    assert listed["greeter"] == fault
    assert run(installed, "build", "Hello").returncode == 0


@pytest.mark.slow
def test_the_check_imports_every_part_and_names_what_fails(installed: Path):
    done = run(installed, "plugins", "check", "greeter")
    assert done.returncode == 1
    assert done.stdout.startswith("greeter  4 parts")
    missing = "greeter: greeter.missing:command: ModuleNotFoundError: "
    assert done.stderr.startswith(missing)
    assert done.stderr.count("\n") == 1
    words = run(installed, "plugins", "list", "--json").stdout
    listed = {each["name"]: each for each in json.loads(words)}
    greeter = listed["greeter"]
    assert greeter["version"] == "1.0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("", "greeter:PLUGIN does not say its `api`; this version of tui-chat has api 2."),
        ("api=9,", "greeter:PLUGIN was made for api 9; this version of tui-chat has api 2."),
    ],
)
def test_a_plugin_for_another_api_is_refused(installed: Path, api: str, error: str):
    (installed / "site" / "greeter" / "__init__.py").write_text(MANIFEST.replace("api=2,", api))
    done = run(installed, "plugins", "check")
    assert (done.returncode, error in done.stderr) == (1, True)
    assert run(installed, "build", "Hello").returncode == 0


@pytest.mark.slow
def test_a_plugin_that_is_not_installed_is_a_fault(installed: Path):
    listed = json.loads(run(installed, "plugins", "--json", enabled='["absent"]').stdout)
    fault = {"name": "absent", "status": "fault", "summary": "no installed package brings it."}
    assert fault in listed


@pytest.mark.slow
def test_a_command_that_cannot_be_imported_is_an_error_of_one_sentence(installed: Path):
    done = run(installed, "broken")
    assert done.returncode == 2
    assert "The plugin “greeter” cannot be loaded: greeter.missing:command:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_of_a_built_in_plugin_cannot_be_taken():
    hooks.enable([hooks.built_in_plugins()[0].name])
    assert "a built-in plugin has this name" in str(hooks.faults()[0])
    hooks.enable([])
    assert not hooks.faults()


def test_a_manifest_of_the_api_before_is_refused_in_a_sentence(installed: Path):
    text = "from tui_chat.extensions import CommandPath, Plugin"
    (installed / "site" / "greeter" / "__init__.py").write_text(text)
    listed = {each["name"]: each for each in json.loads(run(installed, "plugins", "--json").stdout)}
    assert listed["greeter"]["summary"] == (
        "it was made for api 1; this version of tui-chat has api 2 (tui_chat.api)."
    )


def test_the_interface_has_these_names():
    """`API` grows when one of them goes, or a field of the manifest."""
    assert [each.name for each in fields(Plugin)] == [
        *("name", "summary", "api", "config", "commands", "actions", "views", "formats"),
        *("parts", "tables"),
    ]
    for name in (
        *("API", "Action", "Command", "Format", "FoundConversation", "ImportSource", "InputError"),
        *("LinesFormat", "Message", "ObjectFormat", "Part", "Plugin"),
        *("RequestKind", "TextFormat", "ToolDefinition", "TranscriptBuilder", "View"),
    ):
        assert getattr(api, name)


def test_the_summary_of_a_command_is_that_of_its_help():
    for plugin in hooks.built_in_plugins():
        for command in plugin.commands:
            assert hooks.load(command.path).get_short_help_str(100) == command.summary


def test_a_part_that_cannot_be_imported_names_its_plugin_also_of_a_built_in_one():
    broken = Plugin(name="web", summary="", commands=(Command("x", "nowhere:x", ""),))
    with pytest.raises(InputError):
        hooks.load_part(broken, "nowhere:x")
    with pytest.raises(InputError, match="The plugin “doctor” cannot be loaded"):
        hooks.load_part(hooks.built_in_plugins()[0], "nowhere:x")
