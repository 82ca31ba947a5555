"""`tui-chat ask` with several models: their replies one after the other, or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import TOOL, Ask
from tests.support.tables import each_row

TWO = ("-m", "loopback/echo", "-m", "loopback-gemini/thinker")


def test_each_model_replies_under_its_name(ask: Ask):
    done = ask("Good", "day", *TWO, model="")
    assert done.code == 0
    first, second = done.out.split("## ")[1:]
    assert first == "loopback/echo\n\nGood day\n\n"
    assert second.startswith("loopback-gemini/thinker\n\nI thought about it.")


def test_one_model_is_named_with_its_endpoint_too(ask: Ask):
    done = json.loads(ask("Good day", "--json", model="loopback-anthropic/echo").out)
    assert (done["endpoint"], done["model"]) == ("loopback-anthropic", "echo")


def test_one_that_fails_does_not_stop_the_others(ask: Ask):
    models = ("-m", "flaky-cut", "-m", "loopback-anthropic/nowhere", "-m", "echo")
    done = ask("Good day", *models, "--json", model="")
    assert done.code == 6
    replies = json.loads(done.out)
    assert [reply["model"] for reply in replies] == ["flaky-cut", "nowhere", "echo"]
    assert [reply["error"] is None for reply in replies] == [False, False, True]
    assert replies[2]["content"] == "Good day"
    assert len({reply["session_id"] for reply in replies}) == 1
    words = [line.partition(": The")[0] for line in done.err.splitlines()]
    assert words == ["Error: loopback-anthropic/nowhere", "Error: loopback/flaky-cut"]
    assert "## loopback-anthropic" not in ask("Good day", *models, model="").out


def test_nothing_is_stored_if_no_model_took_anything(ask: Ask, run, tmp_path: Path):
    done = ask("x", "-m", "nowhere", "-m", "loopback-anthropic/nowhere", model="")
    assert done.code == 5
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    assert json.loads(run(*home, "sessions", "list", "--json").out) == []


def test_the_versions_continue_a_session(ask: Ask, run, tmp_path: Path):
    first = json.loads(ask("one", "--json").out)
    replies = json.loads(ask("two", "-c", *TWO, "--json", model="").out)
    assert {reply["session_id"] for reply in replies} == {first["session_id"]}
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    exported = run(*home, "export", first["session_id"], "--format", "json").out
    assert exported.count('"two"') >= 1


def test_a_call_without_consent_is_a_failure_of_its_model_alone(ask: Ask, tmp_path: Path):
    (tmp_path / "config.toml").write_text(TOOL)
    done = ask("Use the tool.", "-m", "toolsmith", "-m", "echo", "--json", model="")
    assert done.code == 8
    calls, echo = json.loads(done.out)
    assert calls["tool_calls"]
    assert calls["error"]
    assert echo["content"] == "Use the tool."


@each_row("option", [("--kind", "continue"), ("-x",)])
def test_options_for_one_reply_are_refused(ask: Ask, option: tuple[str, ...]):
    message = () if option[0] == "--kind" else ("x",)
    done = ask(*message, *TWO, *option, model="")
    assert done.code == 2
    assert "Several models" in done.err


def test_endpoint_and_system_hold_for_all(ask: Ask):
    models = ("-m", "mirror", "-m", "mirror")
    done = ask("x", *models, "--endpoint", "loopback-anthropic", "--system", "Be brief.", model="")
    assert done.code == 0
    assert done.out.count("## loopback-anthropic/mirror") == 2
    assert done.out.count("Be brief.") >= 2


def test_replies_that_are_not_json_are_failures_where_json_was_asked_for(ask: Ask, tmp_path: Path):
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    done = ask("x", *TWO, "--schema", tmp_path / "schema.json", "--json", model="")
    assert done.code in (0, 2)
    assert len(json.loads(done.out)) == 2
