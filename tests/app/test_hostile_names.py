"""Hostile names and plugins in the app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.app import make_app, opened, say, until, workspace_of
from tests.support.hostile_names import EVIL, shown
from tests.support.outside_plugins import HOSTILE, ROOT, wheel
from tests.support.program import run_program
from tui_chat.models.role import Role
from tui_chat.ui.chat.transcript import Transcript


async def test_hostile_names_are_displayed_harmlessly(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    name = EVIL.replace("/", "")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / f"{name}.json").write_text('{"name": "x", "messages": []}')
    async with app.run_test(size=(160, 45), notifications=True) as pilot:
        await opened(pilot)
        workspace = workspace_of(app)
        role = await workspace.roles.save(Role("", EVIL, EVIL, model="echo"))
        await workspace.sessions.new(role.role_id)
        await say(pilot, f"{EVIL} pine")
        await workspace.presets.choose(name)
        await workspace.session_list.rename(workspace.state.session_id, EVIL)
        await workspace.session_list.organize((workspace.state.session_id,), folder=EVIL)
        await workspace.session_list.retag((workspace.state.session_id,), add=(EVIL,), drop=())
        await shown(pilot, "the sidebar")
        app.notify(EVIL, markup=False)
        await until(pilot, lambda: bool(app.notifications.shown))
        await shown(pilot, "a notification")
        actions = (
            *("sessions.choose_role", "sessions.edit_roles", "sessions.rename"),
            *("presets.choose_preset", "presets.files"),
        )
        for action in actions:
            await app.run_action(action)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await shown(pilot, action, "Preset “" if action == "presets.files" else "")
            if action == "sessions.edit_roles":
                await pilot.press("[", "enter")
                await shown(pilot, "the form of a role", "Role: ")
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        app.query_one(Transcript).focus()
        await pilot.press("e")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await shown(pilot, "a message that is edited")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        for action in ("move_to_folder", "tag", "rename"):
            app.query_one("SessionsPane").focus()
            await app.run_action(f"sessions.{action}")
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await shown(pilot, action)
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)


# --- A plugin that raises at each extension point -----------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder like site-packages with the hostile plugins."""
    import zipfile

    folder = tmp_path / "site"
    zipfile.ZipFile(wheel(tmp_path, HOSTILE)).extractall(folder)
    return folder


def test_the_app_lives_on(site: Path, tmp_path: Path):
    environ = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.app.hostile_journey", str(tmp_path / "home")]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def run(site: Path, tmp_path: Path):
    """Return a function that runs the command line with the hostile plugin enabled."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[plugins]\nenabled = ["raises"]\n[raises]\nword = "x"\n')

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        folders = ("--config-dir", str(home), "--data-dir", str(home))
        return run_program(*folders, *words, env={**os.environ, "PYTHONPATH": str(site)})

    return call


def test_each_command_lives_on(run, tmp_path: Path):
    home, wrong = tmp_path / "home", []
    messages, hostile = tmp_path / "messages.json", tmp_path / "hostile.jsonl"
    messages.write_text('[{"role": "user", "content": "Ines"}]')
    hostile.write_text('{"hostile": 1}\n')
    (home / "presets").mkdir()
    message = {"id": "a", "role": "system", "content": "{{hostile::a}}"}
    for name, value in (
        ("foe", {"builder": "hostile", "presetMessages": []}),
        ("macro", {"presetMessages": [message]}),
    ):
        (home / "presets" / f"{name}.json").write_text(json.dumps(value))
    for words, code, expected in (
        (("import", str(messages)), 0, ""),
        (("import", str(hostile)), 2, "The format hostile lines of plugin raises failed"),
        (("build", "Hello"), 0, ""),
        (("build", "Hello", "--preset", "macro"), 0, "The macro of plugin raises failed"),
        (("build", "Hello", "--preset", "foe"), 2, "The builder hostile of plugin raises failed"),
        (("ask", "Hello", "--endpoint", "loopback"), 0, ""),
        (("build", "Hello", "--tools"), 0, "plugin raises failed"),
        (("raise",), 1, "The command raise of plugin raises failed: ValueError: no command"),
        (("raise-os",), 1, "The command raise-os of plugin raises failed: FileNotFoundError"),
        (("no-command",), 1, "The command no-command of plugin raises failed: TypeError"),
        (("export", "--format", "hostile"), 1, "The export hostile of plugin raises failed"),
        (("export", "--format", "markdown"), 0, ""),
        (("sessions", "list"), 0, ""),
        (("--help",), 0, ""),
        (("plugins",), 0, ""),
        (("plugins", "check"), 1, "RuntimeError: no settings"),
        (("plugins", "check"), 1, "the view “stays” is left out"),
    ):
        done = run(*words)
        if (done.returncode, expected in done.stderr, "Traceback" in done.stderr) != (
            code,
            True,
            False,
        ):
            wrong.append((words, done.returncode, done.stdout[-300:], done.stderr))
    assert not wrong, "\n".join(map(str, wrong))
    assert "The command raise of plugin raises failed" in run("raise").stderr
    assert "raising_parts.py" in (home / "crash.log").read_text()


def test_a_manifest_of_wrong_types_is_a_fault(tmp_path: Path, run, site: Path):
    manifest = site / "tui_chat_hostile" / "raising.py"
    for written, fault in (
        ("formats=(Format('a', 'b:c'))", "`formats` is not a tuple"),
        ("views=('name',)", "`views` has a str, not a View"),
        ("commands=(Command('a', 3, 'c'),)", "`path` of a Command is not a text"),
    ):
        manifest.write_text(
            "from tui_chat.api import *\n"
            f"PLUGIN = Plugin(name='raises', api=2, summary='x', {written})\n"
        )
        assert fault in run("plugins").stdout
        assert run("build", "Hello").returncode == 0
