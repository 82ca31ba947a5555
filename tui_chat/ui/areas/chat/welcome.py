"""The words of an empty chat: how to begin, on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui_chat.models.endpoint import Endpoint
from tui_chat.ui.key_names import DEFAULT_KEYS

MAX_KEYS = 3
"""Providers to offer at most."""


def keys_found(endpoints: Sequence[Endpoint], environ: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return an endpoint for each key that the environment has."""
    found: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        kind, _, name = endpoint.key.partition(":")
        if kind == "env" and environ.get(name) and endpoint.models:
            found.setdefault(name, endpoint)
    return tuple(found.values())[:MAX_KEYS]


def welcome(
    model: str,
    is_offline: bool,
    found: Sequence[Endpoint] = (),
    keys: Mapping[str, str] = DEFAULT_KEYS,
) -> str:
    """Return the Markdown that an empty chat shows; `found` are endpoints whose key is there,
    `keys` has one for each action.
    """
    partner = f"You are talking to **{model}**."
    if is_offline:
        partner = f"**{model}** answers from within this program: no key, no network. "
        partner += (
            "Your environment has keys for others:"
            if found
            else "For a provider, set its key in the environment (`OPENAI_API_KEY`, "
            "`ANTHROPIC_API_KEY`, `GEMINI_API_KEY` …), start again, and press "
            f"**{keys['model']}**."
        )
    offers = "".join(
        f"- `{each.key.partition(':')[2]}`: type `/model {each.name}/{each.models[0]}`\n"
        for each in (found if is_offline else ())
    )
    return (
        "# tui-chat\n\n"
        "Type below; **Enter** sends. The inspector beside this, or "
        f"**{keys['inspector']}**, shows the exact request before it is sent.\n\n"
        f"{partner}\n\n{offers}\n"
        "- **Ctrl+J** starts a new line, **/** a command, **@** attaches a file\n"
        f"- **{keys['model']}** switches the model, **{keys['new']}** starts a session, "
        "**Esc** stops\n"
        f"- **{keys['palette']}** finds every command, **{keys['help']}** shows all keys\n"
    )
