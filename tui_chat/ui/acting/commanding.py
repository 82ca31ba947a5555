"""Commanding: the `/` commands, and candidates for what is being typed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual import on, work

from tui_chat.config import LOOPBACK_URL
from tui_chat.errors import InputError
from tui_chat.ui.acting.attaching import Attaching
from tui_chat.ui.acting.carrying import Carrying
from tui_chat.ui.acting.choosing import Choosing
from tui_chat.ui.acting.searching import Searching
from tui_chat.ui.chat import CompletionQuery, Composer, Suggestion
from tui_chat.ui.commands import (
    BY_NAME,
    CommandCall,
    UnknownCommand,
    complete_command,
    parse_command,
    rank_names,
)

PATHS = ("attach", "import", "view")
"""Commands that take the path of a file."""
MOST = 50
"""Candidates to offer at most."""


class Commanding(Attaching, Carrying, Choosing, Searching):
    """Answers what is typed after `/` and `@`."""

    async def run_command(self, line: CommandCall | UnknownCommand) -> None:
        """Do what a command says. One that cannot be done is told, and stays selected where it was
        typed: it can be corrected, and what is typed next takes its place.
        """
        if isinstance(line, UnknownCommand):
            self._reject(line, _unknown(line))
            return
        if (fault := _misuse(line)) is not None:
            self._reject(line, fault)
            return
        command, argument = line.command, line.argument
        self._composer.clear_text()
        if not argument:
            await self.run_action(command.run)
            return
        await self._workspace_opened.wait()
        match command.name:
            case "attach":
                self.attach(argument)
            case "model":
                await self.take_model(argument)
            case "preset":
                await self.take_preset(argument)
            case "role":
                await self.take_role(argument)
            case "profile":
                await self.take_profile(argument)
            case "lorebook":
                await self.take_lorebook(argument)
            case "rename":
                await self.take_title(argument)
            case "search":
                await self.search_for(argument)
            case "find":
                self.find_session(argument)
            case "theme":
                self.theme_files.choose(argument)
            case "system":
                await self.take_system(argument)
            case "import":
                await self.take_import(argument)
            case "view":
                await self.take_view(argument)
            case "export":
                await self.take_export(argument)
            case _:
                raise AssertionError(command.name)

    def _reject(self, line: CommandCall | UnknownCommand, fault: InputError) -> None:
        if parse_command(self._composer.text) == line:  # else more was typed meanwhile
            self._composer.select_all()
        self.show_error(fault)

    # --- candidates ----------------------------------------------------------------------

    @on(Composer.CompletionRequested)
    def _asking(self, event: Composer.CompletionRequested) -> None:
        asked = event.query
        if asked.kind == "path" or asked.command in PATHS:
            self._offer_paths(asked)
        elif asked.kind == "command":
            self._offer(
                asked, [_candidate(command.name) for command in complete_command(asked.words)]
            )
        else:
            found = rank_names(self._names_for(asked.command), asked.words)[:MOST]
            self._offer(asked, [Suggestion(name, name, words) for name, words in found])

    def _offer(self, asked: CompletionQuery, candidates: Iterable[Suggestion]) -> None:
        self._composer.offer_suggestions(asked, tuple(candidates))

    @work(group="paths", exclusive=True)
    async def _offer_paths(self, asked: CompletionQuery) -> None:
        import asyncio

        from tui_chat.attachments import paths_beginning

        paths = await asyncio.to_thread(paths_beginning, asked.words, Path.cwd(), MOST)
        at = "@" if asked.kind == "path" else ""
        typed_is_complete = bool(asked.command) and asked.words.endswith("/")
        self._offer(
            asked,
            [
                Suggestion(at + path, path, is_complete=False, typed_is_complete=typed_is_complete)
                if path.endswith("/")
                else Suggestion(path, path, typed_is_complete=typed_is_complete)
                for path in paths
            ],
        )

    def _names_for(self, command: str) -> list[tuple[str, str]]:
        """Return what may stand after a command: names, and a word about each."""
        workspace = self.workspace
        match command:
            case "export":
                from tui_chat.ui.dialogs.file_questions import FORMATS

                return [(kind, words) for kind, words in FORMATS.items()]
            case "theme":
                return [(name, "") for name in sorted(self.available_themes)]
            case "model" if workspace is not None:
                here = workspace.state.endpoint.name
                likely = sorted(
                    workspace.state.config.endpoints,
                    key=lambda at: (at.name != here, at.base_url.startswith(LOOPBACK_URL)),
                )
                return [
                    (f"{at.name}/{model}", at.protocol.label)
                    for at in likely
                    for model in at.models
                ]
            case "preset" if workspace is not None:
                return [(name, "") for name in workspace.library.names("presets")]
            case "role" if workspace is not None:
                return [
                    (each.name, each.model)
                    for each in workspace.state.roles
                    if each.status == "enabled"
                ]
            case "profile" if workspace is not None:
                return [(name, "") for name in workspace.library.names("profiles")]
            case "lorebook" if workspace is not None:
                in_use = workspace.state.lorebook_names
                return [
                    (name, "in use" if name in in_use else "")
                    for name in workspace.library.names("lorebooks")
                ]
            case _:
                return []


def _unknown(line: UnknownCommand) -> InputError:
    near = ", ".join(f"/{command.name}" for command in complete_command(line.name[:1]))
    return InputError(
        f"There is no command /{line.name}.",
        advice=f"{near or 'Type / to list the commands'}; // starts a message with /.",
    )


def _misuse(line: CommandCall) -> InputError | None:
    """Return what is wrong with how a command is used; None if nothing is."""
    command, argument = line.command, line.argument
    if argument and not command.argument:
        return InputError(
            f"/{command.name} takes no arguments.",
            advice=f"//{command.name} starts a message with /{command.name}.",
        )
    if not argument and not command.run:
        return InputError(f"/{command.name} needs {command.argument}.")
    return None


def _candidate(name: str) -> Suggestion:
    command = BY_NAME[name]
    takes = f" {command.argument}" if command.argument else ""
    text = f"/{name}" + (" " if takes else "")
    return Suggestion(text, f"/{name}{takes}", command.title, is_complete=bool(command.run))
