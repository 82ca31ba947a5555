"""Why requests of a session lost the prompt cache, as providers reported it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.support.workspace import CHANGING, LONG_TEXT, LOOPBACKS, cached_preset, put, say
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import OriginKind
from tui_chat.plugins.practice.provider import PracticeTransport

CACHING = [
    endpoint.name
    for endpoint in LOOPBACKS
    if endpoint.protocol not in (Protocol.OLLAMA, Protocol.GEMINI)
]
"""Those of the other protocols report nothing, or no count of 0."""


def reported_losses(workspace) -> int:
    """The tokens that the usage of the replies says to have been cached and read again."""
    replies = [e for e in workspace.state.entries if e.message.role == "assistant"]
    lost = 0
    for before, now in pairwise(replies):
        is_anthropic = workspace.state.endpoint.protocol is Protocol.ANTHROPIC
        usage = before.usage
        written = (usage.cached or 0) + (usage.cache_write or 0) if is_anthropic else usage.input
        assert written is not None
        lost += max(written - (now.usage.cached or 0), 0)
    return lost


@each_row("endpoint", CACHING)
async def test_a_macro_that_changes_is_the_cause_of_each_loss(
    make_workspace, tmp_path: Path, endpoint: str
):
    put(tmp_path / "presets", "mine", cached_preset(f"It is {CHANGING}. {LONG_TEXT}"))
    workspace, heard = await make_workspace(
        endpoint=endpoint, model="echo", transport=PracticeTransport
    )
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two", "three")
    losses = await workspace.cache.losses(workspace.state.entries)
    assert len(losses) == 2
    assert all(loss.origin.kind is OriginKind.MACRO for loss in losses)
    assert all(loss.origin.outermost.id == "p0" for loss in losses)
    tokens = sum(loss.tokens for loss in losses)
    assert tokens == pytest.approx(reported_losses(workspace), rel=0.02)


async def test_a_request_that_only_grows_loses_nothing(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", cached_preset(LONG_TEXT))
    workspace, heard = await make_workspace(transport=PracticeTransport)
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two", "three")
    assert workspace.state.entries[-1].usage.cached
    assert await workspace.cache.losses(workspace.state.entries) == []
