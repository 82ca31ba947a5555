"""Options and keys as other programs have them: they mean the same, or a sentence says which."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from tests.support.command_line import Run
from tests.support.server import Provider, chat_text


def test_short_options_of_other_programs_mean_the_same(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.txt").write_text("A note.")
    (tmp_path / "other.txt").write_text("Another.")
    wrong: list[str] = []
    with Provider(chat_text("A reply.")) as provider:
        (tmp_path / "config.toml").write_text(provider.config())
        folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        for short, long in [
            (("-o", "temperature=0.5"), ("--set", "temperature=0.5")),
            (("-otemperature=0.5",), ("--set", "temperature=0.5")),
            (
                ("-o", "temperature=0.5", "-o", "max_tokens=9"),
                ("--set", "temperature=0.5", "--set", "max_tokens=9"),
            ),
            (("-t", "few-shot"), ("--preset", "few-shot")),
            (("-a", "note.txt"), ("--attach", "note.txt")),
            (("-f", "note.txt", "-a", "other.txt"), ("--attach", "note.txt", "-a", "other.txt")),
        ]:
            bodies: list[str] = []
            for words in (short, long):
                bodies.append(run(*folders, "build", "Hi", *words).out)
                done = run(*folders, "ask", *words, "Hi")
                assert done.code == 0, (words, done.err)
                bodies.append(provider.received[-1].body.decode())
            if len({*bodies}) != 1 or not bodies[0]:
                wrong.append(f"{short}: {bodies}")
        assert not wrong, "\n".join(wrong)
        count = len(json.loads(run(*folders, "sessions", "list", "--json").out))
        assert run(*folders, "ask", "-n", "Hi").out == "A reply.\n"
        assert len(json.loads(run(*folders, "sessions", "list", "--json").out)) == count
        # Behind -- it is text.
        assert run(*folders, "ask", "--", "-o", "a", "b").code == 0
        assert provider.bodies[-1]["messages"][-1]["content"] == "-o a b"


def test_what_is_called_otherwise_here_is_named(run: Run, tmp_path: Path, monkeypatch):
    folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    wrong: list[str] = []
    for words, hint in [
        (("--attachment", "x"), "--attach"),
        (("--jsonl",), "--json"),
        (("--system-prompt", "x"), "--system"),
        (("--schema", '{"type": "object"}'), "there is no file"),
        (("--schema", "name, age int"), "there is no file"),
        (("-o", "temperatur=1"), "temperature"),
    ]:
        for command in ("ask", "build"):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            done = run(*folders, command, "Hi", *words)
            if done.code != 2 or hint not in done.err:
                wrong.append(f"{command} {words}: {done.code} {done.err}")
    assert not wrong, "\n".join(wrong)


# --- Files of the user with a key that means or resembles a known one: their use says so --


def test_each_kind_of_file_says_which_key_is_meant(run: Run, tmp_path: Path):
    whole = {
        "roles": ({"name": "X", "system_prompt": "S"}, [{"type": "chat_history"}]),
        "presets": ({"presetMessages": [{"content": "P"}, {"type": "chat_history"}]}, ()),
        "profiles": ({"name": "K", "content": "C"}, ()),
    }
    wrong: list[str] = []
    for kind, key, meant in [
        ("roles", "settings", "parameters"),
        ("roles", "params", "parameters"),
        ("roles", "prompt", "system_prompt"),
        ("roles", "sytem_prompt", "system_prompt"),
        ("roles", "temperatur", "temperature"),
        ("presets", "settings", "parameters"),
        ("presets", "systemPlacment", "systemPlacement"),
        ("profiles", "text", "content"),
        ("profiles", "placment", "placement"),
    ]:
        home = tmp_path / f"{kind}-{key}"
        path = home / kind / "x.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**whole[kind][0], key: {}}, indent=1))
        folders = ("--data-dir", home, "--config-dir", home)
        option = f"--{kind[:-1]}"
        name = "X" if kind == "roles" else "x"
        for words in (
            ("ask", "Hi", "-m", "echo", option, name),
            ("build", "Hi", option, name),
            ("build", "Hi", option, path),
            ("doctor",),
        ):
            if words[0] == "build" and (
                words[-1] == "X" or (kind, words[-1]) == ("profiles", path)
            ):
                continue  # the role was imported by then, and a profile has a name
            done = run(*folders, *words)
            said = done.out + done.err
            if f"“{key}” is unknown; did you mean “{meant}”?" not in said or str(path) not in said:
                wrong.append(f"{kind} {key} {words[:2]}: {done.code} {said}")
    assert not wrong, "\n".join(wrong)


def test_a_setting_of_a_role_that_is_misspelled_is_said_and_free_keys_are_not(run, tmp_path):
    path = tmp_path / "r.json"
    role = {"name": "X", "parameters": {"temperatur": 1}, "comment": "mine", "x-own": 1, "zz": 2}
    path.write_text(json.dumps(role))
    folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    done = run(*folders, "build", "Hi", "--role", path, "-m", "echo")
    assert done.code == 0
    [line] = done.err.splitlines()
    assert line.endswith("“temperatur” is unknown; did you mean “temperature”?")
