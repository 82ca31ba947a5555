"""How a reply ended is on the screen, in the words of the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import open_screen
from tests.support.server import Answer, Provider, events


def gemini(finish: str, *, message: str = "") -> Answer:
    candidate = {"content": {"parts": []}, "finishReason": finish, "finishMessage": message}
    return Answer(events({"candidates": [candidate]}, done=False))


async def test_each_end_has_a_sentence(tmp_path: Path):
    answers = {
        "The reply is empty.": gemini("STOP"),
        "Ended by the provider's filter (SAFETY)": gemini("SAFETY"),
        "Malformed call: print(look": gemini(
            "MALFORMED_FUNCTION_CALL", message="Malformed call: print(look)"
        ),
        "reached its token limit": gemini("MAX_TOKENS"),
        "too wide": Answer('error: {"message":"too wide"}\n\n'),
        "also bare": Answer(json.dumps({"error": {"message": "also bare"}})),
    }
    with Provider(*answers.values()) as provider:
        async with open_screen(tmp_path, config=provider.config("gemini")) as screen:
            for words in answers:
                await screen.type("hello")
                await screen.press("enter")
                await screen.sees(words)
                await screen.press("ctrl+n")
