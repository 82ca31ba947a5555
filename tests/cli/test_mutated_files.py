"""Files with any value replaced by any type: every command reports one sentence."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.mutated_files import SAMPLES, WRONG, mutants, paths_in, replaced
from tests.support.reading import read as read_conversations
from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.cli.captured import convert
from tui_chat.errors import InputError
from tui_chat.interop.messages import read_history
from tui_chat.library.foreign_files import import_preset_file
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.preset_check import check_preset
from tui_chat.library.presets import parse_preset
from tui_chat.library.roles_and_profiles import parse_profile, parse_role
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.providers.response_recorder import read_recorded
from tui_chat.turn_file import holds_turn, read_turn

CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def inspect_and_convert(text: str) -> None:
    """Do what `inspect` and `convert` do with a request."""
    with suppress(InputError):
        captured = read_captured(text)
        assert captured.settings is not None
        assert isinstance((captured.messages, captured.not_kept, captured.preset("x")), tuple)
        target = list(Protocol)[len(text) % len(Protocol)]  # all of them would take too long
        endpoint = Endpoint("convert", target, "")
        body, _ = convert(captured.body, captured.protocol, endpoint, model="", name="x")
        assert json.loads(body) is not None


def validate(text: str) -> None:
    """Do what `preset` and `build` do with a file."""
    assert isinstance(list(check_preset(text, "x")), list)
    for read in (
        lambda: parse_preset(text, "x", "x"),
        lambda: parse_role(text, "x", "x"),
        lambda: parse_profile(text, "x"),
        lambda: read_lorebook(text, "x").file.raise_errors("x"),
        lambda: read_history(text, "x"),
        lambda: read_turn(text, "x") if holds_turn(text) else None,
    ):
        with suppress(InputError):
            read()


def imported(text: str) -> None:
    """Do what `import` does with a file."""
    for found in read_conversations(text.encode("utf-8", "replace")):
        assert (found.transcript is None) == bool(found.fault or found.ignored)


@pytest.mark.slow
@each_row("name, request_body", SAMPLES["requests"].items())
def test_requests(name: str, request_body: dict[str, Any]):
    for text in mutants(request_body):
        inspect_and_convert(text)


@each_row("key", ["role", "type"])
@each_row("wrong", [[], {}, [[]], None, 5])
def test_a_role_or_type_of_another_type(key: str, wrong: object):
    block = {"type": "text", "text": "t"}
    message = {"role": "user", "content": [{**block, key: wrong}], key: wrong}
    inspect_and_convert(json.dumps({"model": "m", "messages": [message]}))


@each_row("protocol, body", SAMPLES["replies"].items())
def test_replies(protocol: str, body: dict[str, Any]):
    for text in mutants(body):
        for said in (text, f"data: {text}\n\n", f"event: x\ndata: {text}\n\n"):
            reply, _ = read_recorded(said.encode("utf-8", "replace"), Protocol(protocol))
            assert isinstance(reply.text, str)


@pytest.mark.slow
@each_row("name, body", SAMPLES["presets"].items())
def test_presets(name: str, body: dict[str, Any], tmp_path: Path):
    path = tmp_path / "case.json"
    for text in mutants(body):
        validate(text)
        path.write_text(text)
        with suppress(InputError):
            import_preset_file(path)


@each_row("name, body", SAMPLES["conversations"].items())
def test_conversations(name: str, body: object):
    for text in mutants(body):
        imported(text)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")
@each_row(
    ("pattern", "use"),
    [
        ("wire/*/*.request.json", inspect_and_convert),
        ("sillytavern/**/*.json", validate),
        ("transcripts/**/*.json", imported),
    ],
)
def test_the_corpus(pattern: str, use: Callable[[str], None]):
    chance = random.Random(14)
    files = [path for path in sorted(CORPUS.glob(pattern)) if path.stat().st_size < 8_000]
    for path in chance.sample(files, min(len(files), 20)):
        body = json.loads(path.read_bytes())
        places = list(paths_in(body))
        for place in chance.sample(places, min(len(places), 10)):
            use(json.dumps(replaced(body, place, chance.choice(WRONG))))
