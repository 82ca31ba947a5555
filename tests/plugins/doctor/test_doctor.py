"""`doctor` and `endpoints test`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tests.support.config_home import COMMENTED, KEY, SCREEN_FAULTS, endpoints, home
from tests.support.tables import each_row
from tests.support.vendors import LOOPBACKS

__all__ = ["endpoints", "home"]


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


# --- `tui-chat endpoints test` ------------------------------------------------------------


@each_row("name", [endpoint.name for endpoint in LOOPBACKS])
def test_a_working_endpoint_passes_every_check(name: str, endpoints: Run):
    done = endpoints("test", name, "--model", "echo")
    assert done.code == 0, done.out + done.err
    checks = [line.split()[:2] for line in done.out.splitlines() if line.startswith("  ")]
    assert checks == [["ok", "key"], ["ok", "server"], ["ok", "chat"]]
    assert "echo replied" in done.out
    assert "works." in done.out


def test_a_failed_check_has_advice(endpoints: Run):
    done = endpoints("test", "loopback", "--model", "flaky-429")
    assert done.code == 1
    assert "NO  chat" in done.out
    assert "Wait 2 s" in done.out
    assert "does not work: chat" in done.out


def test_a_cut_stream_fails_the_check(endpoints: Run):
    assert "NO  chat" in endpoints("test", "loopback", "--model", "flaky-cut").out


def test_a_missing_key_skips_all_requests(endpoints: Run):
    done = endpoints("test", "openai")
    assert done.code == 1
    assert "Set OPENAI_API_KEY" in done.out
    assert "server" not in done.out


def test_an_unreachable_server_fails_the_check(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = endpoints("test", "mine")
    assert done.code == 1
    assert "No server answers at 127.0.0.1:9" in done.out


def test_the_output_of_a_key_command_is_only_sent_to_its_endpoint(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        f'[endpoints.loopback]\nkey = "command:/bin/echo {KEY}"\nauth = "header:X-My-Key"\n'
    )
    done = endpoints("test", "loopback", "--model", "mirror")
    assert done.code == 0, done.out
    assert "Found: command:echo …" in done.out
    assert KEY not in done.out + done.err


def test_endpoints_test_prints_the_request_url(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(
        '[endpoints.mine]\nprotocol = "anthropic"\nbase_url = "http://127.0.0.1:9/v1/messages"\n'
    )
    assert "Requests go to http://127.0.0.1:9/v1/messages\n" in endpoints("test", "mine").out


def test_an_unknown_name_exits_with_2(endpoints: Run):
    done = endpoints("test", "nowhere")
    assert done.code == 2
    assert "Available: loopback" in done.err
