"""Why requests of a session lost the prompt cache, as providers reported it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.support.workspace import CHANGING, LONG_TEXT, LOOPBACKS, cached_preset, ids, put, say
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import OriginKind
from tui_chat.plugins.practice.provider import PracticeTransport
from tui_chat.workspace.events import ReplySettled


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


CACHING = [
    endpoint.name
    for endpoint in LOOPBACKS
    if endpoint.protocol not in (Protocol.OLLAMA, Protocol.GEMINI)
]
"""Those of the other protocols report nothing, or no count of 0."""


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
    await heard.until(lambda: len(heard.of(ReplySettled)) == 3)
    (cause,) = await workspace.cache.causes(workspace.state.session_id)
    assert cause.origin.kind is OriginKind.MACRO
    assert cause.origin.outermost.id == "p0"
    assert cause.times == 2
    assert cause.tokens == pytest.approx(reported_losses(workspace), rel=0.02)
    assert "below the history" in cause.advice
    assert cause.entry_id == ids(workspace)[-1]
    shown_loss = workspace.state.entries[-1].cache_loss
    assert shown_loss.origin == cause.origin


async def test_a_request_that_only_grows_loses_nothing(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", cached_preset(LONG_TEXT))
    workspace, heard = await make_workspace(transport=PracticeTransport)
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two", "three")
    await heard.until(lambda: len(heard.of(ReplySettled)) == 3)
    assert workspace.state.entries[-1].usage.cached
    assert await workspace.cache.causes(workspace.state.session_id) == ()


@each_row("endpoint", [*CACHING, "loopback-gemini"])
async def test_a_change_of_the_preset_and_of_the_model_are_two_causes(
    make_workspace, tmp_path: Path, endpoint: str
):
    put(tmp_path / "presets", "mine", cached_preset(LONG_TEXT, "Be brief."))
    put(tmp_path / "presets", "other", cached_preset(LONG_TEXT[100:], "Be brief."))
    workspace, heard = await make_workspace(endpoint=endpoint, transport=PracticeTransport)
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two")
    await workspace.presets.choose("other")
    await say(workspace, heard, "three")
    await workspace.settings.set_model(workspace.state.endpoint.name, "mirror")
    await say(workspace, heard, "four")
    await heard.until(lambda: len(heard.of(ReplySettled)) == 4)
    causes = await workspace.cache.causes(workspace.state.session_id)
    if endpoint != "loopback-gemini":  # after a request without cached tokens it says nothing
        assert {cause.sentence.partition(" ")[0] for cause in causes} == {"Preset", "The"}
    assert all(cause.times == 1 for cause in causes)
    origins = {cause.origin.kind for cause in causes if cause.origin is not None}
    assert origins == {OriginKind.PRESET}
