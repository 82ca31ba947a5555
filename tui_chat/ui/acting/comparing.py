"""Comparing: what the inspector's difference is to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.acting.drafting import Drafting
from tui_chat.ui.commands import message_text
from tui_chat.ui.sent_requests import time_of

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.models.message import Message
    from tui_chat.ui.inspector import Inspector
    from tui_chat.workspace import Workspace

LAST = "last"
"""The difference is to the last request that was sent to this endpoint."""


class Comparing(Drafting):
    """Gives the diff view what it holds the request against."""

    _base = LAST
    """What the difference is to: `last`, `protocol NAME`, `preset NAME`, `branch MESSAGE` or
    `request ENTRY`."""
    _base_branch: tuple[str, tuple[Message, ...]] | None = None
    """The other branch that it is to, with its name: what a model is shown of it."""
    _base_sent: tuple[str, Composed] | None = None
    """The sent request that it is to, with its name."""

    def tell_difference(self, inspector: Inspector, workspace: Workspace) -> None:
        """Give the diff view what it holds the request against."""
        if not inspector.shows_difference:
            return
        kind, _, name = self._base.partition(" ")
        draft = message_text(self._composer.text)
        match kind:
            case "protocol":
                other = Protocol(name)
                was = workspace.requests.compose(draft, other, self.parts).payload
                inspector.compare_with(f"the same as {other.label}", was)
            case "preset":
                from tui_chat.workspace import WhatIf

                try:
                    was = workspace.requests.what_if(
                        draft, WhatIf(preset=name), self._protocol, self.parts
                    )
                except InputError as fault:
                    inspector.compare_with(f"preset {name}", None, str(fault))
                else:
                    inspector.compare_with(f"the same with preset {name}", was.payload)
            case "branch" if self._base_branch is not None:
                told, history = self._base_branch
                was = workspace.requests.after(history, draft, self._protocol, self.parts).payload
                inspector.compare_with(told, was)
            case "request" if self._base_sent is not None:
                inspector.compare_with(self._base_sent[0], self._base_sent[1].payload)
            case _:
                last = workspace.state.last_sent.get(workspace.state.endpoint.name)
                why = "Nothing was sent to this endpoint yet."
                was = last.composed.payload if last is not None else None
                inspector.compare_with("the last request sent here", was, why)

    @work(group="dialog", exclusive=True)
    async def on_inspector_against_wanted(self) -> None:
        """Ask what to compare with."""
        from tui_chat.ui.dialogs.questions import ask_diff_base

        workspace = self.workspace
        if (
            workspace is None
            or (chosen := await ask_diff_base(self, workspace, self._base)) is None
        ):
            return
        kind, _, name = chosen.partition(" ")
        if kind == "request":
            sent = await workspace.request_history.sent_request(name)
            composed = sent.shown if sent is not None else None
            if sent is None or composed is None:
                return
            self._base_sent = f"the request of {time_of(sent.record.created)}", composed
        elif kind == "branch":
            self._base_branch = (
                "the same on another branch",
                await workspace.branches.messages_to(name),
            )
        self._base = chosen
        self.compose_soon()
