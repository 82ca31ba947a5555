"""A provider's error that repeats a part of the key: none of it is shown or stored."""

from __future__ import annotations

import json

from tests.support.server import Answer, Provider, events

KEY = "sk-proj-PLANTED0123456789abcdef"


def parts(text: str) -> set[str]:
    """Return the parts of the key, of 8 characters or more, that a text has."""
    return {KEY[at : at + 8] for at in range(len(KEY) - 7) if KEY[at : at + 8] in text}


def test_no_long_part_of_the_key_is_shown_or_stored(tmp_path, run, monkeypatch):
    monkeypatch.setenv("PLANTED", KEY)
    shown = [KEY, KEY[:-1], KEY[1:], KEY[2:-2], KEY[:12], KEY[-9:], f"{KEY[:10]}...{KEY[-4:]}"]
    shown += [KEY[:9] + "****" + KEY[-8:], f"{KEY[:-3]}/{KEY[3:]}", json.dumps({"k": KEY[:-1]})]
    wrong: list[str] = []
    for number, part in enumerate(shown):
        message = {"error": {"message": f"Incorrect API key provided: {part}.", "code": 401}}
        for kind, answer in {
            "refused": Answer(json.dumps(message), "application/json", 401),
            "plain": Answer(f"No such key: {part}", "text/plain", 403),
            "event": Answer(events(message, done=False)),
            "whole": Answer(json.dumps(message), "application/json"),
        }.items():
            home = tmp_path / f"{number}{kind}"
            home.mkdir()
            with Provider(answer) as provider:
                config = provider.config() + 'key = "env:PLANTED"\nretries = { times = 0 }\n'
                (home / "config.toml").write_text(config)
                done = run("--data-dir", home, "--config-dir", home, "ask", "hi")
            stored = b"".join(path.read_bytes() for path in home.glob("chat.db*"))
            found = {
                "output": parts(done.out + done.err),
                "store": parts(stored.decode("latin-1")),
            }
            if done.code == 0 or any(found.values()) or "[key]" not in done.err:
                wrong.append(f"{kind} {part}: {found}, code {done.code}, {done.err}")
    assert not wrong, "\n".join(wrong)
