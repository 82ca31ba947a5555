"""Reads a session and the user's words, and reviews it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.plugins.redact.review import Review
from tui_chat.plugins.redact.words import name_words, read_words

if TYPE_CHECKING:
    from tui_chat.library.library import Library
    from tui_chat.models.session import SessionTranscript
    from tui_chat.store import Store


async def review_session(
    store: Store, library: Library, folder: Path, session_id: str, *, requests: bool
) -> Review:
    """Review a stored session; `folder` has the user's file of words, `requests` says whether the
    requests are part of the export. Raises InputError and StoreError.
    """
    transcript = await store.transcripts.get(session_id, requests=requests)
    if transcript is None:
        raise InputError("The session has been deleted.")
    if profile := transcript.session.profile:
        with suppress(InputError):  # it is gone or damaged: the user has no name
            transcript = replace(transcript, user=library.profile(profile).name)
    words = dict.fromkeys(name_words(Path.home().name), "user")
    words |= dict.fromkeys(read_words(folder), "word")
    return await asyncio.to_thread(Review, transcript, words)


def without_requests(transcript: SessionTranscript) -> SessionTranscript:
    """Return a transcript as it is shared without requests, presets, profiles and draft."""
    return replace(transcript, requests=(), revisions=(), draft="")
