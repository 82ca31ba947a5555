"""A case of SillyTavern, as captures describe it: written as a user's folder, imported, built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.reading import import_into
from tests.support.workspace import MakeWorkspace
from tui_chat.compose import Composed
from tui_chat.plugins.sillytavern.cases import write_folder

_USUAL: Mapping[str, Any] = {"card": {"name": "Rook"}, "generation_type": "normal"}
"""What a case has that does not say it."""


async def composed_case(
    make_workspace: MakeWorkspace, number: int, found: Mapping[str, Any]
) -> Composed:
    """Import a case, of which `found` says what is not usual, and return its request."""
    case = {**_USUAL, **found}
    made = make_workspace.of_row(number)
    workspace, _ = await made("openai", "gpt-4o")
    folder = write_folder(case, workspace.state.config.config_dir / "default-user")
    (report,) = await import_into(workspace, [folder])
    await workspace.sessions.open(report.session_ids[0])
    kind = case["generation_type"]
    if kind == "normal":
        return workspace.requests.compose(case["user_input"])
    prompt = case.get("generate_options", {}).get("quiet_prompt", "")
    return workspace.requests.compose_kind(kind, prompt)
