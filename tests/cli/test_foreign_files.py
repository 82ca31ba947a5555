"""Files of other programs as they are found: partly broken, or of forms that are seldom met."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.support.command_line import Run


def chatgpt(title: str, text: str) -> dict[str, object]:
    """A conversation of ChatGPT's export with one message."""
    message = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": [text]},
        "create_time": 1.0,
    }
    return {
        "title": title,
        "create_time": 1.0,
        "current_node": "b",
        "mapping": {
            "a": {"id": "a", "message": None, "parent": None, "children": ["b"]},
            "b": {"id": "b", "message": message, "parent": "a", "children": []},
        },
    }


def test_a_bad_conversation_among_many_files_is_named_as_in_a_file_alone(run: Run, tmp_path: Path):
    folder, alone = tmp_path / "folder", tmp_path / "alone.json"
    folder.mkdir()
    whole, broken = chatgpt("Whole", "One"), {"title": "Broken", "mapping": 3}
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


def test_the_activity_of_google_takeout_is_a_session_for_each_prompt(run: Run, tmp_path: Path):
    html = "<p>A <strong>filter</strong> &amp; more.</p><ul><li>one</li><li>two</li></ul>"
    html += "<pre>x  y</pre>"
    common = {"header": "Gemini Apps", "products": ["Gemini Apps"]}
    records = [
        {**common, "title": "Prompted\u00a0Why?", "time": "2026-03-02T09:15:00.000Z",
         "safeHtmlItem": [{"html": html}]},
        {**common, "title": "Used an Assistant feature", "time": "2026-03-02T09:10:00.000Z"},
        {**common, "title": "Prompted Alone", "time": "2026-03-02T09:05:00.000Z"},
    ]  # fmt: skip
    file, folders = tmp_path / "MyActivity.json", ("--data-dir", tmp_path / "data")
    file.write_text(json.dumps(records))
    assert run(*folders, "import", file).code == 0
    sessions = json.loads(run(*folders, "export", "--all").out)["sessions"]
    texts = {tuple(message["content"] for message in each["messages"]) for each in sessions}
    answer = "A **filter** & more.\n\n- one\n- two\n\n```\nx  y\n```"
    assert texts == {("Why?", answer), ("Alone",)}


def test_a_session_of_pi_is_read_with_calls_branches_and_tokens(run: Run, tmp_path: Path):
    def message(key: str, parent: str | None, **facts: object) -> dict[str, object]:
        time = "2026-03-02T09:15:00.000Z"
        record = {"type": "message", "id": key, "parentId": parent, "timestamp": time}
        return {**record, "message": facts}

    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    usage = {"input": 5, "output": 7, "cacheRead": 20, "cacheWrite": 0, "totalTokens": 32}
    result = {"toolCallId": "c1", "toolName": "bash", "content": [{"type": "text", "text": "a"}]}
    lines = (
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-02T09:15:00.000Z",
         "cwd": "/home/x"},
        {"type": "model_change", "id": "m", "parentId": None, "provider": "x", "modelId": "m-1"},
        message("1", "m", role="user", content="List"),
        message("2", "1", role="assistant", model="m-1", usage=usage, stopReason="toolUse",
                content=[{"type": "thinking", "thinking": "Hm"}, call]),
        message("3", "2", role="toolResult", isError=False, **result),
        message("4", "3", role="assistant", model="m-1", content=[{"type": "text", "text": "One"}]),
        message("5", "1", role="assistant", model="m-1", content=[{"type": "text", "text": "Two"}]),
        message("6", "5", role="user", content=[{"type": "text", "text": "Thanks"}]),
    )  # fmt: skip
    file, folders = tmp_path / "2026_s.jsonl", ("--data-dir", tmp_path / "data")
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run(*folders, "import", file)
    assert (done.code, done.err) == (0, "")
    shown = json.loads(run(*folders, "sessions", "show", "List", "--json").out)
    assert [m["content"] for m in shown["messages"]] == ["List", "Two", "Thanks"]
    (session,) = json.loads(run(*folders, "export", "--all").out)["sessions"]
    texts = {m.get("content", "") for m in session["messages"]}
    assert texts == {"List", "", "a", "One", "Two", "Thanks"}
    (calling,) = (m for m in session["messages"] if m.get("tool_calls"))
    assert json.loads(calling["tool_calls"][0]["arguments"]) == {"command": "ls"}


def test_a_line_of_sillytavern_without_text_uses_its_swipe_or_is_left_out(run: Run, tmp_path: Path):
    file, folders = tmp_path / "chat.jsonl", ("--data-dir", tmp_path / "data")
    lines = (
        {"user_name": "Rowan", "character_name": "Ines", "chat_metadata": {}},
        {"name": "Ines", "is_user": False, "mes": None, "swipes": ["A", "B"], "swipe_id": 1},
        {"name": "Rowan", "is_user": True, "mes": None},
        {"name": "Rowan", "is_user": True, "mes": "Hm", "swipes": None},
        {"name": "Ines", "is_user": False, "mes": 3, "swipes": ["C"], "swipe_id": 9},
        {"name": "Ines", "is_user": False, "swipes": ["D"]},
    )
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run(*folders, "import", file)
    assert "line 3" in done.err
    assert "line 5" in done.err
    shown = json.loads(run(*folders, "export", "--format", "json").out)
    texts = [message["content"] for message in shown["sessions"][0]["messages"]]
    assert sorted(texts) == ["A", "B", "D", "Hm"]
