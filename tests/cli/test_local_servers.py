"""Servers on this machine: what they say by themselves, and servers of tools that do not start."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import Run
from tests.support.server import Provider, chat_text


def test_the_only_model_of_a_server_is_used(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("tiny",)) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        done = run(*folders, "ask", "Hi")
        assert (done.code, done.out, done.err) == (0, "A reply.\n", "")
        assert provider.bodies[-1]["model"] == "tiny"
        done = run(*folders, "ask", "-c", "More")
        assert (done.code, done.err, provider.bodies[-1]["model"]) == (0, "", "tiny")


def test_one_of_several_models_is_not_guessed(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("one", "two")) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        done = run(*folders, "ask", "Hi")
        assert (done.code, done.out, provider.received) == (2, "", [])
        assert "--model: one, two" in done.err
        assert run(*folders, "ask", "-m", "two", "Hi").code == 0


def test_models_that_are_not_configured_have_a_hint(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply."), models=("tiny",)) as provider:
        (tmp_path / "config.toml").write_text(provider.config(model=""))
        words = ("--data-dir", tmp_path, "--config-dir", tmp_path, "models", "--endpoint", "local")
        done = run(*words)
        assert "No models." in done.err
        assert "--online asks its server" in done.err
        assert "tiny" in run(*words, "--online").out


def test_a_tool_server_that_does_not_start_is_reported(run: Run, tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        server = '\n[mcp.bad]\ncommand = "/nonexistent/server"\n'
        (tmp_path / "config.toml").write_text(provider.config() + server)
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        for words in (("ask", "Hi"), ("build", "Hi")):
            done = run(*folders, *words)
            assert done.code == 0, words
            assert "warning: bad: " in done.err, words
            assert "could not be started" in done.err, words
        assert run(*folders, "ask", "--bare", "Hi").err == ""
