"""`tui-chat endpoints`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.command_line import Run
from tests.support.config_home import KEY


def test_an_unknown_name_and_a_broken_file_exit_with_2(tmp_path: Path, endpoints: Run):
    done = endpoints("facts", "nowhere")
    assert done.code == 2
    assert "Available: loopback" in done.err
    (tmp_path / "config.toml").write_text(f'[endpoints.openai]\nkey = "{KEY}"')
    done = endpoints("list")
    assert done.code == 2
    assert "endpoints.openai.key" in done.err
    assert KEY not in done.err


def test_facts_are_printed_with_their_sources_as_the_file_would_have_them(tmp_path, endpoints):
    (tmp_path / "config.toml").write_text(
        '[models."gpt-5.1"]\nefforts = ["low"]\nprices = { input = 1.25 }\n'
        '[endpoints.openai.facts."gpt-5.1"]\ncontext_limit = 9\n'
    )
    done = endpoints("facts", "openai", "openai/gpt-5.1", "gpt-5.1", 'x"\\')
    assert done.code == 0, done.err
    lines = [line.split("  ")[0] for line in done.out.splitlines()]
    assert 'efforts = ["low"]' in lines
    assert "context_limit = 9" in lines
    assert "context_limit = 400000" in lines
    assert re.search(r"^context_limit = 9 +# config.toml, this endpoint$", done.out, re.M)
    assert re.search(r"^prices = \{ input = 1.25 \} +# config.toml, all endpoints$", done.out, re.M)
    assert re.search(r"^strict_keys = true +# this server$", done.out, re.M)
    assert re.search(r"^reasons_by_default = false +# the model's name$", done.out, re.M)
    (tmp_path / "config.toml").write_text(done.out, encoding="utf-8")
    told = json.loads(endpoints("facts", "openai", "gpt-5.1", "--json").out)
    assert told["gpt-5.1"]["efforts"] == ["low"], "what was printed is valid in config.toml"
    assert told["gpt-5.1"]["context_limit"] == 9


def test_facts_of_unknown_models_and_endpoints(endpoints: Run):
    assert "Nothing is known of it." in endpoints("facts", "vllm", "my-model").out
    assert "name one" in endpoints("facts", "vllm").out
    assert endpoints("facts", "nowhere").code == 2
    assert "`tui-chat endpoints facts openai gpt-17`" in endpoints("facts", "gpt-17").err
    listed = json.loads(endpoints("list", "--json").out)
    anthropic_facts = next(row for row in listed if row["name"] == "anthropic")["facts"]
    assert anthropic_facts["claude-opus-5-5"]["max_output"] == 128_000


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
    assert rows["ollama"]["running"] is False
