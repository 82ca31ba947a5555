"""The listed sessions that are of subagents, and the calls that started them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tui_chat.interop.transcript_builder import stable_id
from tui_chat.models.json_text import as_string
from tui_chat.models.session import SessionSummary
from tui_chat.plugins.transcripts.claude_code import subagent_facts
from tui_chat.workspace.session_source import StartingCall

FOLDER = "subagents"
"""The folder beside a session of Claude Code that its subagents' files are in."""
_AGENT = re.compile(r"[\w.-]{1,200}")


class FileSubagents:
    """The subagents of the listed sessions. Session ids are those of the list."""

    def __init__(self) -> None:
        self._started_by: dict[str, StartingCall] = {}
        self._of_session: dict[str, dict[str, str]] = {}
        """By the session that started them: the calls of subagents by their ids."""
        self._nested: tuple[tuple[SessionSummary, ...], tuple[SessionSummary, ...], int] | None
        self._nested = None

    def add(self, session_id: str, parent_id: str, call_id: str = "") -> None:
        """Add the session of a subagent; `parent_id` is the session that started it."""
        known = self._started_by.get(session_id)
        if parent_id == session_id or (known and (known.call_id or not call_id)):
            return
        self._started_by[session_id] = StartingCall(parent_id, call_id)
        self._of_session.setdefault(parent_id, {})[session_id] = call_id

    def add_file(self, session_id: str, path: Path) -> None:
        """Note the session of a file, if it is in the folder of another session's subagents."""
        if path.parent.name == FOLDER:
            parent = path.parent.parent
            self.add(session_id, session_of(parent.with_name(f"{parent.name}.jsonl")))

    def calls_of(self, session_id: str) -> dict[str, str]:
        """Return the sessions of subagents by the ids of the session's calls that started them."""
        children = self._of_session.get(session_id, {})
        return {call_id: child for child, call_id in children.items() if call_id}

    def without_call(self, session_id: str) -> list[str]:
        """Return the subagents of a session whose calls are not known."""
        return [c for c, call_id in self._of_session.get(session_id, {}).items() if not call_id]

    def started_by(self, session_id: str) -> StartingCall | None:
        """Return what started a session; None if that is not known."""
        return self._started_by.get(session_id)

    def nested(self, sessions: tuple[SessionSummary, ...]) -> tuple[SessionSummary, ...]:
        """Return sessions, each subagent behind its starter; the same object for the same ones."""
        if not self._started_by:
            return sessions
        count = len(self._started_by)
        if self._nested is None or self._nested[0] is not sessions or self._nested[2] != count:
            self._nested = sessions, self._sorted(sessions), count
        return self._nested[1]

    def _sorted(self, sessions: Iterable[SessionSummary]) -> tuple[SessionSummary, ...]:
        listed = {summary.session_id: summary for summary in sessions}
        below: dict[str, list[SessionSummary]] = {}
        for summary in listed.values():
            started_by = self._started_by.get(summary.session_id)
            parent = started_by.session_id if started_by else ""
            below.setdefault(parent if parent in listed else "", []).append(summary)
        summaries: dict[str, SessionSummary] = {}
        waiting = below.get("", [])[::-1]
        while waiting:
            summary = waiting.pop()
            summaries[summary.session_id] = summary
            waiting += below.get(summary.session_id, [])[::-1]
        return tuple((summaries | listed).values())  # those in a circle last


def session_of(path: Path) -> str:
    """Return the id of the session that a listed file is."""
    return stable_id("file", str(path.absolute()))


def subagent_files(path: Path, agent: str) -> tuple[Path, ...]:
    """Return the places of a subagent's file: its session's folder, or, as before, beside it."""
    name = f"agent-{agent}.jsonl"
    if not _AGENT.fullmatch(agent):
        return ()
    return path.with_suffix("") / FOLDER / name, path.with_name(name)


def call_of_file(path: Path) -> str:
    """Return the call that started a file's subagent, from the description beside it; or empty."""
    return as_string(subagent_facts(path).get("toolUseId"))
