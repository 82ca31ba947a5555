"""`tui-chat doctor`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tests.support.config_home import COMMENTED, SCREEN_FAULTS, home

__all__ = ["home"]


def checks(done: Done) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for check in json.loads(done.out)["checks"]:
        found.setdefault(check["name"], []).append(check["result"])
    return found


def test_a_fresh_home_is_well(home: Run, tmp_path: Path):
    done = home("doctor", "--json")
    assert done.code == 0
    found = checks(done)
    assert {
        "program",
        "terminal",
        "config",
        "files",
        "database",
        "keys",
        "endpoint",
    } <= (set(found))
    assert all("failed" not in results for results in found.values())
    assert [*tmp_path.iterdir()] == []
    assert "Nothing was sent" in home("doctor").out


@pytest.mark.usefixtures("impatient")
def test_what_is_wrong_is_said_with_advice(home: Run, tmp_path: Path):
    (tmp_path / "config.toml").write_text("endpoint = 5")
    assert checks(home("doctor", "--json"))["config"] == ["failed"]
    (tmp_path / "config.toml").write_text(f'endpoint = "openai"\n{COMMENTED}')
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "bad.json").write_text("{")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "chat.db").write_bytes(b"no database at all" * 100)
    done = home("doctor", "--json")
    assert done.code == 1
    found = checks(done)
    assert found["database"][0] == "failed"
    assert found["files"] == ["ok", "warning"]
    assert found["endpoint"] == ["failed"]
    text = home("doctor").out
    assert "tui-chat keys set openai" in text
    assert "Does not work: database, endpoint." in text


def test_a_folder_that_cannot_be_written_to(home: Run, tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    assert checks(home("doctor", "--json"))["database"] == ["ok", "failed"]


def test_a_folder_that_cannot_be_read_is_named_and_help_works(run: Run):
    folder = "a" * 300  # longer than names of files may be
    assert run("--config-dir", folder, "--help").code == 0
    done = run("--config-dir", folder, "build", "Hello")
    assert (done.code, done.err) == (
        2, f"Error: {folder}/config.toml cannot be read: File name too long\n"
    )  # fmt: skip


def test_what_the_app_would_not_use_is_a_warning(home: Run, tmp_path: Path):
    for line, words in SCREEN_FAULTS:
        (tmp_path / "config.toml").write_text(f"{line}\n")
        done = home("doctor", "--json")
        assert checks(done)["config"] == ["warning"], line
        assert words in done.out.replace("\\u201c", "“").replace("\\u201d", "”")
