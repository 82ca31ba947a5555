"""A conversation with a server's tools that goes on in every protocol, one after the other."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.plugins.mcp.conftest import SCRIPT
from tests.support.corpus import ORACLE, oracle
from tests.support.sdk_types import accept
from tests.support.vendors import HttpRequest
from tests.support.workspace import LOOPBACKS, make_workspace, say, settled
from tui_chat.models.endpoint import Endpoint
from tui_chat.plugins.mcp.settings import ServerSettings

__all__ = ["make_workspace"]

pytestmark = [pytest.mark.slow]

ENDPOINTS = {endpoint.name: endpoint for endpoint in LOOPBACKS}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
Sent = list[tuple[Endpoint, dict[str, Any]]]


@pytest.fixture(params=["modern", "legacy"])
async def sent(make_workspace: Any, request: pytest.FixtureRequest) -> Sent:
    """The bodies of a conversation that calls a tool in each protocol, and one whose result, with
    a picture, is sent in the next one.
    """
    server = ServerSettings(
        command=sys.executable,
        args=("-S", "-E", str(SCRIPT), request.param),
        tools=("echo", "image"),
        timeout=20.0,
    )
    bodies: list[bytes] = []

    def record(http: HttpRequest) -> None:
        bodies.append(http.body)

    workspace, heard = await make_workspace(on_request=record, sections={"mcp": {"bad": server}})
    sent: Sent = []
    await workspace.tool_sources.loaded()
    following = dict(zip(ENDPOINTS, [*list(ENDPOINTS)[1:], "loopback"], strict=True))
    for name, endpoint in ENDPOINTS.items():
        for tool, answered in (("echo", name), ("image", following[name])):
            bodies.clear()
            await workspace.settings.set_model(name, f"toolsmith:bad__{tool}")
            await say(workspace, heard, f"Use {tool} with {endpoint.protocol}.")
            (waiting,) = workspace.state.pending_calls
            await workspace.settings.set_model(answered, "echo")
            assert await workspace.tools.run(waiting.entry_id, waiting.index)
            await settled(workspace, heard)
            assert not workspace.state.pending_calls
            call, result = map(json.loads, bodies)
            sent += ((endpoint, call), (ENDPOINTS[answered], result))
    return sent


async def test_calls_and_results_are_in_the_requests_of_all_protocols(sent: Sent) -> None:
    assert len(sent) == 20
    for number, (endpoint, body) in enumerate(sent):
        accept(endpoint.protocol, body)
        assert not ORACLE.is_file() or oracle(endpoint.protocol, body) == []
        text = json.dumps(body)
        echoes, pictures = (number + 3) // 4, (number + 1) // 4
        assert (called(body, "bad__echo"), called(body, "bad__image")) == (echoes, pictures)
        assert text.count("left out: its data is damaged") == pictures, "the text of the result"
        assert text.count(PICTURE) == pictures
        assert f"Use {'image' if number % 4 > 1 else 'echo'} with" in text


def called(value: Any, name: str) -> int:
    """Return how often a body has a call of a tool: an object with its name and arguments."""
    if isinstance(value, list):
        return sum(called(item, name) for item in value)
    if not isinstance(value, dict):
        return 0
    is_call = value.get("name") == name and {"arguments", "input", "args"} & value.keys()
    return bool(is_call) + sum(called(item, name) for item in value.values())
