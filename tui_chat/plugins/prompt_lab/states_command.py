"""`tui-chat presets states`: lists the saved states of a preset, and prints them."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from tui_chat.cli.app import asynchronous, open_library, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find
from tui_chat.cli.options import json_option
from tui_chat.cli.output import table, write_json, write_line, write_text
from tui_chat.errors import InputError
from tui_chat.library.presets import dump_preset
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.prompt_lab.preset_states import PresetStates, with_changes


@click.command("states")
@click.argument("name", metavar="NAME")
@click.option("--show", type=click.IntRange(1), metavar="N", help="Print the state with a number.")
@json_option()
@asynchronous
async def list_states(common: CommonOptions, name: str, show: int | None, as_json: bool) -> None:
    """List the saved states of a preset, the newest first.

    A state is kept whenever the app saves a preset, with what the file had before. The list has
    what each one changed.

    \b
    Examples:
      tui-chat presets states tutor
      tui-chat presets states tutor --show 12 > tutor-before.json
    """
    library = open_library(common.config())
    async with open_store(common) as store:
        states = await PresetStates.open(store)
        listed = await states.of_preset(name)
        if not listed:
            name = find("preset", name, library.names("presets"))
            listed = await states.of_preset(name)
        if show:
            preset = await states.read(await states.numbered(name, show))
            write_text(sanitize(dump_preset(preset), "json"))
            return
        if not listed and not as_json:
            raise InputError(
                f"No state of “{one_line(name, 60)}” is kept.",
                advice="The next time that it is saved in the app, one is.",
            )
        rows = await with_changes(states, listed)
    if as_json:
        body = [
            {
                "number": state.number,
                "saved": datetime.fromtimestamp(state.saved, UTC).isoformat(),
                "sha256": state.sha256,
                "messages": len(preset.messages),
                "change": change,
            }
            for state, preset, change in rows
        ]
        write_json(body)
        return
    head = ("STATE", "SAVED", "MESSAGES", "CHANGE")
    lines = [
        (str(state.number), state.time, str(len(preset.messages)), change)
        for state, preset, change in rows
    ]
    write_line(table([head, *lines]))
