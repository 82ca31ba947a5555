"""A home and servers in which all names and texts have control characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from tui_chat.cli.commands import cli

BAD = "\x1b]52;c;ZXZpbA==\x07\x1b[31m\r\x08\x9b31m\x9d0;t\x9c\u202eevil\u2066\u200b\x7f\u200f"
"""Sets clipboard, color and title, moves the cursor back, and reverses the text direction."""


NAME = BAD.replace("/", "")


HOSTILE_HOME: dict[str, Any] = json.loads(
    (Path(__file__).parent / "hostile_home.json")
    .read_text("utf-8")
    .replace("<BAD>", json.dumps(BAD)[1:-1])
)


class Hostile(BaseHTTPRequestHandler):
    """A provider that sends control characters wherever it can."""

    status = 200

    def _answer(self, body: Any) -> None:
        said = json.dumps(body).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self) -> None:
        if self.status != 200:
            self._answer({"error": {"message": BAD, "code": BAD, "type": BAD}})
        else:
            self._answer({"data": [{"id": f"m{BAD}", "owned_by": BAD}, {"id": BAD}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.status != 200 or asked.get("model") == "refused":
            self._answer({"error": {"message": BAD, "code": BAD, "type": BAD}})
        else:
            message = {"role": "assistant", "content": f"ok {BAD}", "reasoning_content": BAD}
            self._answer({"choices": [{"message": message, "finish_reason": BAD}], "model": BAD})

    def log_message(self, format: str, *args: object) -> None:
        del format, args


class Refusing(Hostile):
    status = 418


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    running = [ThreadingHTTPServer(("127.0.0.1", 0), each) for each in (Hostile, Refusing)]
    for each in running:
        Thread(target=each.serve_forever, args=(0.01,), daemon=True).start()
    good, bad = (f"http://127.0.0.1:{each.server_address[1]}/v1" for each in running)
    yield good, bad
    for each in running:
        each.shutdown()
        each.server_close()


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
