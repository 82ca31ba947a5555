"""What the app asks before it does something: which model, which title, really send?

Each shows a dialog over the desk's state and answers with the choice, None for none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.errors import StoreDamaged
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.role import Role
from tui_chat.models.visible import one_line, visible
from tui_chat.ui.branch_lines import branch_lines
from tui_chat.ui.dialogs import MADE, AskText, Choice, Choose, ChooseMany, Confirm
from tui_chat.ui.path_question import AskPath

if TYPE_CHECKING:
    from tui_chat.workspace import Desk, WhatIf


async def ask_model(app: App[Any], desk: Desk) -> tuple[str, str] | None:
    """Ask for an endpoint and one of its models.

    Meanwhile this machine is searched for model servers; what they have is added to the list.
    """
    current = f"{desk.endpoint.name}\n{desk.composed('').model}"
    dialog = Choose("Ask which model?", _models(desk), current)

    async def search() -> None:
        await desk.discover()
        if dialog.is_attached:
            dialog.offer(_models(desk))

    searching = asyncio.create_task(search())
    chosen = await app.push_screen_wait(dialog)
    searching.cancel()
    if chosen is None:
        return None
    endpoint, _, model = chosen.partition("\n")
    return endpoint, model


def _models(desk: Desk) -> list[Choice]:
    return [
        Choice(f"{at.name}\n{model}", model, f"{at.name}, {at.protocol.label}", at.name)
        for at in desk.config.endpoints
        for model in at.models
    ]


async def ask_preset(app: App[Any], desk: Desk) -> str | None:
    """Ask for a preset by its name."""
    choices = [Choice(name, name) for name in desk.presets]
    return await app.push_screen_wait(Choose("Use which preset?", choices, desk.preset_name))


async def ask_title(app: App[Any], title: str) -> str | None:
    """Ask for a session's new title."""
    return await app.push_screen_wait(AskText("Rename the session", title))


async def ask_tags(app: App[Any], tags: Sequence[str]) -> tuple[str, ...] | None:
    """Ask for the tags of sessions, parted by commas or spaces with a `#`."""
    title = "Tags, parted by commas"
    answer = await app.push_screen_wait(AskText(title, ", ".join(tags), may_be_empty=True))
    if answer is None:
        return None
    parts = (part.strip().lstrip("#") for part in re.split(r",|\s+(?=#)", answer))
    return tuple(dict.fromkeys(filter(None, parts)))


async def ask_folder(app: App[Any], folders: Sequence[str], current: str) -> str | None:
    """Ask for a folder that sessions are to go into; empty for none. A new one is typed."""
    choices = [
        *(Choice(name, name) for name in folders),
        Choice("", "No folder"),
        Choice(NEW, "+ New folder"),
    ]
    dialog = Choose("Put into which folder?", choices, current, makes="+ New folder")
    chosen = await app.push_screen_wait(dialog)
    if chosen != NEW:
        return chosen if chosen is None or chosen in folders else chosen.removeprefix(MADE)
    return await app.push_screen_wait(AskText("New folder", ""))


async def may_send(app: App[Any], faults: Sequence[Note]) -> bool:
    """Ask whether to send a request that has faults; without any there is no question."""
    if not faults:
        return True
    sentences = "\n\n".join(note.sentence for note in faults)
    return bool(await app.push_screen_wait(Confirm("Send it all the same?", sentences, yes="Send")))


async def may_leave(app: App[Any], replies: int) -> bool:
    """Ask whether to leave while replies arrive."""
    what = "A reply is" if replies == 1 else f"{replies} replies are"
    question = f"{what} still arriving. What has come is kept, and the rest is not waited for."
    dialog = Confirm("Quit now?", question, yes="Quit", no="Stay")
    return bool(await app.push_screen_wait(dialog))


async def may_lose_unsaved(app: App[Any], why: str) -> bool:
    """Ask whether to leave although something could not be saved."""
    question = f"{why}\n\nThe end of a reply or a draft is in memory only, and would be lost."
    dialog = Confirm("Quit without saving?", question, yes="Quit", no="Stay")
    return bool(await app.push_screen_wait(dialog))


async def may_open(app: App[Any], url: str) -> bool:
    """Ask whether to open a link, showing where it goes: models write links too."""
    return bool(await app.push_screen_wait(Confirm("Open this link?", url, yes="Open")))


async def may_rescue(app: App[Any], fault: StoreDamaged) -> bool:
    """Tell that the database is damaged, and ask whether to go on with what can be read of it."""
    question = (
        f"{fault}\n\nWhat can be read of it can be saved into a new file and used from now on; "
        "the damaged one is kept beside it. A backup may have more."
    )
    dialog = Confirm("The database is damaged", question, yes="Save what can be read", no="Not now")
    return bool(await app.push_screen_wait(dialog))


async def try_again(app: App[Any], fault: str) -> bool:
    """Tell that the conversations cannot be opened, and ask whether to try again."""
    title = "The conversations cannot be opened"
    dialog = Confirm(title, fault, yes="Try again", no="Quit")
    return bool(await app.push_screen_wait(dialog))


NEW = "+"
"""Stands for the line that makes another one."""


async def ask_role(app: App[Any], desk: Desk, title: str) -> str | None:
    """Ask for a role that can begin a session, the one used last first; empty for none."""
    enabled = [role for role in desk.roles if role.status == "enabled"]
    choices = [Choice(role.role_id, role.name, _about_role(role)) for role in enabled]
    choices.append(Choice("", "No role", "No system prompt but the preset's"))
    first = enabled[0].role_id if enabled else ""
    return await app.push_screen_wait(Choose(title, choices, first))


async def ask_role_to_edit(app: App[Any], desk: Desk) -> Role | None:
    """Ask which role to change, or for a new one; one without an id and a name is new."""
    choices = [
        Choice(NEW, "+ New role"),
        *(Choice(role.role_id, role.name, _about_role(role)) for role in desk.roles),
    ]
    current = desk.role.role_id if desk.role else NEW
    chosen = await app.push_screen_wait(Choose("Change which role?", choices, current))
    if chosen is None:
        return None
    return next((role for role in desk.roles if role.role_id == chosen), Role("", ""))


async def may_delete_role(app: App[Any], desk: Desk, role: Role) -> bool:
    """Ask whether to delete a role, telling what becomes of its sessions."""
    count = sum(each.role_name == role.name for each in desk.sessions)
    one = "The session that began with it stays, and goes on"
    many = f"The {count:,} sessions that began with it stay, and go on"
    stays = f"{one if count == 1 else many} without its system prompt. " if count else ""
    question = f"{stays}This cannot be undone. A disabled one begins no more sessions either."
    title = f"Delete the role “{one_line(role.name, 40)}”?"
    return bool(await app.push_screen_wait(Confirm(title, question, yes="Delete")))


def _about_role(role: Role) -> str:
    """Say in a line how a role differs from others."""
    facts = [role.model, role.preset, one_line(role.system_prompt, 60)]
    if role.status == "disabled":
        facts.insert(0, "disabled")
    return " · ".join(fact for fact in facts if fact)


async def ask_profile(app: App[Any], desk: Desk) -> str | None:
    """Ask who the user is; empty for nobody, `NEW` for somebody else."""
    choices = [
        *(Choice(name, name) for name in desk.profiles),
        Choice("", "Nobody", "The model is told nothing about you"),
        Choice(NEW, "+ New profile"),
    ]
    return await app.push_screen_wait(Choose("Who are you?", choices, desk.profile_name))


async def ask_lorebooks(app: App[Any], desk: Desk) -> tuple[str, ...] | None:
    """Ask which lorebooks to use."""
    choices = [Choice(name, name) for name in desk.lorebooks]
    folder = desk.config.config_dir / "lorebooks"
    none = f"There are none yet: put lorebooks, as JSON files, into {folder}."
    dialog = ChooseMany("Use which lorebooks?", choices, desk.lore_names, none)
    return await app.push_screen_wait(dialog)


async def ask_theme(app: App[Any]) -> str | None:
    """Ask for a theme; the marked one is shown meanwhile."""
    names = sorted(app.available_themes, key=lambda name: (not name.startswith("tui-chat"), name))
    choices = [
        Choice(name, name, "dark" if app.available_themes[name].dark else "light") for name in names
    ]

    def show(name: str) -> None:
        app.theme = name

    return await app.push_screen_wait(Choose("Choose the colours", choices, app.theme, show))


async def ask_line(app: App[Any], title: str, value: str) -> str | None:
    """Ask for a line of text."""
    return await app.push_screen_wait(AskText(title, value))


async def ask_file(app: App[Any], title: str, name: str) -> str | None:
    """Ask for the path of a file to write."""
    return await app.push_screen_wait(AskPath(title, name, enter="writes it"))


async def ask_against(app: App[Any], desk: Desk, current: str) -> str | None:
    """Ask what the shown request is to be compared with; see `Comparing` for the answers."""
    choices = [Choice("last", "The last request sent here", desk.endpoint.name)]
    choices += [
        Choice(f"protocol {other}", other.label, "the same in another protocol")
        for other in Protocol
        if other is not desk.endpoint.protocol
    ]
    choices += [
        Choice(f"preset {name}", name, "the same with another preset")
        for name in desk.presets
        if name != desk.preset_name
    ]
    head = desk.entries[-1].message.id if desk.entries else ""
    for branch in branch_lines(await desk.tree()):
        if branch.leaf.message_id != head:
            words = " ".join(visible(branch.first.words).split())[:40] or "no text"
            what = f"the same on another branch, from message {branch.number:,}"
            choices.append(Choice(f"branch {branch.leaf.message_id}", words, what))
    for sent in reversed(await desk.requests_like()):
        at = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append(Choice(f"request {sent.message_id}", f"Sent {at}", what))
    return await app.push_screen_wait(Choose("Compare with what?", choices, current))


async def ask_captured(app: App[Any]) -> str | None:
    """Ask for a captured request as text."""
    from tui_chat.ui.asking_inspector import PasteRequest

    return await app.push_screen_wait(PasteRequest())


async def ask_what_if(app: App[Any], desk: Desk, now: WhatIf | None) -> WhatIf | None:
    """Ask what is to be another; nothing at all goes back to how it is."""
    from tui_chat.ui.asking_inspector import AskWhatIf

    return await app.push_screen_wait(AskWhatIf(desk, now))
