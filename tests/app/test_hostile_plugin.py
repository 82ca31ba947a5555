"""A plugin that raises at each extension point: the app and each command live on, and name it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.outside_plugins import HOSTILE, ROOT, wheel
from tests.support.program import run_program


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
