"""The words of an empty chat."""

from __future__ import annotations


def welcome(model: str, is_offline: bool) -> str:
    """Return the Markdown that an empty chat shows."""
    partner = (
        f"You are talking to **{model}**, which lives in this program: it needs no key and no "
        "network."
        if is_offline
        else f"You are talking to **{model}**."
    )
    return (
        "# tui-chat\n\n"
        "Type below. The request that your words become is shown beside this, or with **F4**: "
        "byte for byte, before it is sent, with a colour for where each part came from.\n\n"
        f"{partner}\n\n"
        "- **Enter** sends, **Ctrl+J** begins a new line, **Esc** stops a reply\n"
        "- **Ctrl+O** asks another model, **Ctrl+N** begins another session\n"
        "- **F4** goes to the request, **F2** to the sessions, **F1** shows all keys\n"
    )
