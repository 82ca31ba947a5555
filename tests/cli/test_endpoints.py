"""`tui-chat endpoints`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run
from tests.support.config_home import KEY


def test_an_unknown_name_and_a_broken_file_exit_with_2(tmp_path: Path, endpoints: Run):
    (tmp_path / "config.toml").write_text(f'[endpoints.openai]\nkey = "{KEY}"')
    done = endpoints("list")
    assert done.code == 2
    assert "endpoints.openai.key" in done.err
    assert KEY not in done.err


def test_the_list_describes_keys_without_showing_them(tmp_path, endpoints, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    (tmp_path / "config.toml").write_text(
        '[endpoints.openai]\nkey = "env:MY_KEY"\n'
        f'[endpoints.google]\nkey = "command:/bin/echo {KEY}"\n'
        '[endpoints.groq]\nkey = "keyring:chat/groq"\n'
    )
    for arguments in (("list",), ("list", "--json")):
        done = endpoints(*arguments)
        assert done.code == 0, done.err
        assert KEY not in done.out + done.err
        for expected in ("env:MY_KEY", "command:echo …", "keyring:chat/groq", "none needed"):
            assert expected in done.out
        assert "env:ANTHROPIC_API_KEY (not set)" in done.out
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert rows["anthropic"]["facts"]["claude-opus-5-5"]["reasons"] is True
