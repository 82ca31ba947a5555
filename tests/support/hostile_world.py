"""A home and servers in which all names and texts have control characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.server import Answer, Provider, Received, json_answer
from tui_chat.cli.commands import cli

BAD = "\x1b]52;c;ZXZpbA==\x07\x1b[31m\r\x08\x9b31m\x9d0;t\x9c\u202eevil\u2066\u200b\x7f\u200f"
"""Sets clipboard, color and title, moves the cursor back, and reverses the text direction."""


NAME = BAD.replace("/", "")


HOSTILE_HOME: dict[str, Any] = json.loads(
    (Path(__file__).parent / "hostile_home.json")
    .read_text("utf-8")
    .replace("<BAD>", json.dumps(BAD)[1:-1])
)


def refuse(_: Received) -> Answer:
    return json_answer({"error": {"message": BAD, "code": BAD, "type": BAD}}, 418)


def answer(request: Received) -> Answer:
    """Send control characters wherever it can be done."""
    if request.json.get("model") == "refused":
        return replace(refuse(request), status=200)
    message = {"role": "assistant", "content": f"ok {BAD}", "reasoning_content": BAD}
    return json_answer({"choices": [{"message": message, "finish_reason": BAD}], "model": BAD})


def list_models(_: Received) -> Answer:
    return json_answer({"data": [{"id": f"m{BAD}", "owned_by": BAD}, {"id": BAD}]})


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    """The URLs of a server that answers and of one that refuses."""
    with Provider(answer, models=list_models) as good, Provider(refuse, models=refuse) as bad:
        yield f"{good.url}/v1", f"{bad.url}/v1"


class World:
    """Folders in which all names and texts contain control characters: those of
    `hostile_home.json`, by their paths.
    """

    def __init__(self, folder: Path, servers: tuple[str, str]) -> None:
        self.folder = folder
        self.data, self.config = folder / "data", folder / "config"
        self.config.mkdir()
        tables = [
            f'[endpoints.{name}]\nprotocol = "openai_chat"\nbase_url = "{url}"\n'
            f'auth = "none"\nmodels = ["m"]\n'
            for name, url in (("hostile", servers[0]), ("refusing", servers[1]))
        ]
        (self.config / "config.toml").write_text("\n".join(tables))
        for name, value in HOSTILE_HOME.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(json.dumps(value))

    def __getattr__(self, name: str) -> Path:
        """Return the file with this name, with or without control characters behind it."""
        for each in (f"{name}.json", f"{name}{NAME}.json"):
            if each in HOSTILE_HOME:
                return self.folder / each
        raise AttributeError(name)


@pytest.fixture(scope="module")
def database(servers: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database into which the chat was imported."""
    world = World(tmp_path_factory.mktemp("world"), servers)
    folders = ["--data-dir", str(world.data), "--config-dir", str(world.config)]
    CliRunner().invoke(cli, [*folders, "import", str(world.chat)])
    assert "titled" in CliRunner().invoke(cli, [*folders, "sessions", "list"]).output
    return (world.data / "chat.db").read_bytes()


@pytest.fixture
def world(tmp_path: Path, servers: tuple[str, str]) -> World:
    return World(tmp_path, servers)


@pytest.fixture
def stored(tmp_path: Path, servers: tuple[str, str], database: bytes) -> World:
    """The same, with the chat in the database."""
    return stored_world(tmp_path, servers, database)


def stored_world(folder: Path, servers: tuple[str, str], database: bytes) -> World:
    world = World(folder, servers)
    world.data.mkdir(0o700)
    (world.data / "chat.db").write_bytes(database)
    return world
