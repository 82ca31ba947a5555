"""Files of other programs as they are found: partly broken, or of forms that are seldom met."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.cli.conftest import Run


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
