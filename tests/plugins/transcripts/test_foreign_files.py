"""Files of other programs as they are found: partly broken, or of forms that are seldom met."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.exports import ROOT, chatgpt, node

DATA = Path(__file__).parent / "data"


def test_a_bad_conversation_among_many_files_is_named_as_in_a_file_alone(run: Run, tmp_path: Path):
    folder, alone = tmp_path / "folder", tmp_path / "alone.json"
    folder.mkdir()
    whole = chatgpt(node(ROOT, None, children=("a",)), node("a", ROOT, "user", "One"))
    broken = {"title": "Broken", "mapping": 3}
    wrong = []
    for number, (name, values) in enumerate(
        (
            ("behind", [whole, broken]),
            ("before", [broken, whole]),
            ("foreign", [whole, {"nothing": "known"}]),
        )
    ):
        alone.write_text(json.dumps(values))
        (folder / "a.json").write_text(json.dumps(values))
        (folder / "user.json").write_text("[{}]")
        archive = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.write(alone, "a.json")
            file.writestr("user.json", "[{}]")
        results = []
        for kind, path in (("alone", alone), ("folder", folder), ("archive", archive)):
            done = run("--data-dir", tmp_path / f"{number} {kind}", "import", path)
            fault = done.err.split("a.json ")[-1].split("alone.json ")[-1].splitlines()[:1]
            fault = [line.removeprefix(f"{alone}: ").split("$")[-1] for line in fault]
            results.append((done.code, fault))
            if kind != "alone" and "a.json" in done.out.partition("skipped")[2]:
                wrong.append((name, kind, done.out))
        if len({str(result) for result in results}) > 1 or results[0][0] == 0:
            wrong.append((name, results))
    assert not wrong, wrong


@pytest.fixture
def chat(run: Run, tmp_path: Path) -> Run:
    """Run a command on a new database."""
    return lambda *words: run("--data-dir", tmp_path / "data", *words)


def test_the_activity_of_google_takeout_is_a_session_for_each_prompt(chat: Run):
    assert chat("import", DATA / "MyActivity.json").code == 0
    sessions = json.loads(chat("export", "--all").out)["sessions"]
    texts = {tuple(message["content"] for message in each["messages"]) for each in sessions}
    answer = "A **filter** & more.\n\n- one\n- two\n\n```\nx  y\n```"
    assert texts == {("Why?", answer), ("Alone",)}


def test_a_session_of_pi_is_read_with_calls_branches_and_tokens(chat: Run):
    done = chat("import", DATA / "pi_session.jsonl")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(chat("sessions", "show", "List", "--json").out)
    assert [m["content"] for m in shown["messages"]] == ["List", "Two", "Thanks"]
    (session,) = json.loads(chat("export", "--all").out)["sessions"]
    texts = {m.get("content", "") for m in session["messages"]}
    assert texts == {"List", "", "a", "One", "Two", "Thanks"}
    (calling,) = (m for m in session["messages"] if m.get("tool_calls"))
    assert json.loads(calling["tool_calls"][0]["arguments"]) == {"command": "ls"}
