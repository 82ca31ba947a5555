"""The parts of the app are one object: what each keeps for itself has a name of its own."""

from __future__ import annotations

from collections import defaultdict

from textual.app import App

from tui_chat.ui.app import TuiChat


def test_no_two_parts_of_the_app_keep_something_under_the_same_name() -> None:
    owners = defaultdict[str, list[str]](list)
    for part in TuiChat.__mro__:
        if part.__module__.startswith("tui_chat.ui."):
            for name in part.__dict__:
                if name.startswith("_") and not hasattr(App, name):
                    owners[name].append(part.__name__)
    assert owners["_what_if"] == ["Inspecting"]
    assert not {name: found for name, found in owners.items() if len(found) > 1}
