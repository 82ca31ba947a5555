"""A key that stands twice in an object of a captured request: the second value is read, and a note
says that there was another one.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run

REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "FIRST", "content": "second"}]}'


def test_a_repeated_key_is_a_note(run: Run, tmp_path: Path):
    file = tmp_path / "request.json"
    wrong: list[str] = []
    for text in (REQUEST, f"curl https://e.invalid/v1/chat/completions -d '{REQUEST}'"):
        file.write_text(text)
        for target in ("openai_chat", "anthropic"):
            done = run("convert", file, "--to", target, "--report")
            if done.code:
                wrong.append(f"{target}: {done.err}")
                continue
            report = json.loads(done.out)
            assert "second" in json.dumps(report["body"])
            said = [note["sentence"] for note in report["notes"] if note["code"] == "key-repeated"]
            if len(said) != 1 or "“content”" not in said[0]:
                wrong.append(f"{target}: {report['notes']}")
    assert not wrong, "\n".join(wrong)
