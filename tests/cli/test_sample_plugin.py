"""The sample plugin: built as a wheel, installed, enabled, used, broken on purpose, removed; and a
hostile one.
"""

from __future__ import annotations

import json
import shutil
import signal
from datetime import datetime
from pathlib import Path
from time import sleep

from tests.support.outside_plugins import HOSTILE, ROOT, SAMPLE, Home, wheel

HISTORY = (Path(__file__).parent / "data" / "aider.chat.history.md").read_text()


def test_the_life_of_a_plugin(tmp_path: Path):
    home, file = Home(tmp_path), tmp_path / ".aider.chat.history.md"
    file.write_text(HISTORY)
    home.install(wheel(tmp_path))

    home.enable()
    assert home.status("aider")["status"] == "not enabled"
    refused = home.run("import", str(file))
    assert refused.returncode
    assert "not a conversation of a known format" in refused.stderr

    home.enable("aider")
    assert home.status("aider")["summary"] == "Reads aider's chat histories."
    imported = home.run("import", str(file))
    assert imported.returncode == 0, imported.stderr
    (session,) = json.loads(home.run("sessions", "list", "--json").stdout)
    assert session["title"] == "aider, 2026-11-20 09:14:03"
    assert session["created"] == datetime(2026, 11, 20, 9, 14, 3).astimezone().timestamp()
    shown = home.run("sessions", "show", session["session_id"]).stdout
    for words in ("rename `total`\nto `sum_of_prices`", "I renamed it in `shop.py`.", "thanks"):
        assert words in shown
    assert "Applied edit" not in shown

    reader = home.site / "tui_chat_aider" / "history.py"
    reader.write_text("1 / 0")
    broken = home.run("import", str(file))
    assert broken.returncode
    assert "The plugin “aider” cannot be loaded" in broken.stderr
    assert "Traceback" not in broken.stderr
    assert home.run("build", "Hello").returncode == 0

    shutil.rmtree(home.site)
    assert home.status("aider") == {
        "name": "aider", "status": "fault", "summary": "no installed package brings it."
    }  # fmt: skip
    assert home.run("build", "Hello").returncode == 0
    assert "sum_of_prices" in home.run("sessions", "show", session["session_id"]).stdout


def test_a_faulty_history_gets_a_sentence(tmp_path: Path):
    home, file = Home(tmp_path), tmp_path / ".aider.chat.history.md"
    file.write_bytes(b"# aider chat started at x\n#### \xff\n")
    home.install(wheel(tmp_path))
    home.enable("aider")
    assert "is not UTF-8 text (byte 31)" in home.run("import", str(file)).stderr


def test_a_hostile_plugin_is_named_and_the_rest_works(tmp_path: Path):
    home, file = Home(tmp_path), tmp_path / ".aider.chat.history.md"
    file.write_text(HISTORY)
    home.install(wheel(tmp_path))
    home.install(wheel(tmp_path, HOSTILE))
    assert home.status("quits")["status"] == "not enabled"
    assert home.run("plugins", "check").returncode == 0, "nothing of it was imported"

    home.enable("fails", "quits", "stranger", "incomplete", "aider")
    assert home.status("fails") == {
        "name": "fails", "status": "fault", "version": "6.6", "summary": "OSError: no such luck"
    }  # fmt: skip
    assert home.status("quits")["summary"] == "SystemExit: goodbye"
    assert home.status("stranger")["summary"] == "tui_chat_hostile:stranger is no Plugin."
    assert home.status("incomplete")["status"] == "enabled"

    checked = home.run("plugins", "check", "aider", "incomplete")
    assert checked.returncode == 1
    assert "aider  1 parts" in checked.stdout
    assert [line.partition(":")[0] for line in checked.stderr.splitlines()] == ["incomplete"] * 3
    for fault in (
        "tui_chat_hostile.nowhere:command: ModuleNotFoundError",
        "tui_chat_hostile.quitting:command: SystemExit: goodbye again",
        "tui_chat_hostile:FORMATS: AttributeError",
    ):
        assert fault in checked.stderr

    for command in ("nowhere", "quitting"):
        refused = home.run(command)
        assert refused.returncode == 2
        assert "The plugin “incomplete” cannot be loaded" in refused.stderr
        assert "Traceback" not in refused.stderr
    failing = home.run("failing")
    assert failing.returncode
    assert "RuntimeError: no use" in failing.stderr
    assert "Traceback" not in failing.stderr

    assert home.run("import", str(file)).returncode == 0
    assert home.run("build", "Hello").returncode == 0
    assert home.run("--help").returncode == 0


def test_an_import_that_hangs_is_named_when_it_is_interrupted(tmp_path: Path):
    home = Home(tmp_path)
    home.install(wheel(tmp_path, HOSTILE))
    for plugin, words in (("hangs", ("build", "Hello")), ("hanging-part", ("plugins", "check"))):
        home.enable(plugin)
        process = home.start(*words)
        try:
            while process.poll() is None and not (tmp_path / f"{plugin} began").exists():
                sleep(0.02)
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1].decode()
        finally:
            process.kill()
        assert process.returncode == 2
        assert f"The import of the plugin “{plugin}” was interrupted" in errors
        assert "`[plugins] enabled`" in errors


def test_the_page_about_plugins_shows_the_sample():
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    for path in (SAMPLE / "pyproject.toml", *SAMPLE.rglob("*.py")):
        assert path.read_text(encoding="utf-8") in page, path.name
