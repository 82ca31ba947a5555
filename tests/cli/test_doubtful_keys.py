"""Files of the user with a key that means or resembles a known one: their use says so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run


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
