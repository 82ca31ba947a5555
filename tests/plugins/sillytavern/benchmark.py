"""What a keystroke costs with the policies of SillyTavern: 270 prompts, a card, a lorebook
of 1,000 entries, half of them with patterns, over 5,000 messages.

    python -m tests.plugins.sillytavern.benchmark [TIMED ...]

TIMED is how many of the entries are sticky, and some of those pause: the first compose derives
their timers from all turns. It is 0, 10, 100 and 990 unless given. Keys are rare, or one is in each
message. Prints the first compose, and the median of a keystroke with its bytes, in milliseconds of
processor time; asserts nothing.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from dataclasses import replace

from tests.tools.benchmarks.compose import conversation
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.lorebooks.timers import with_lore_timers
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.lorebook import Lorebook, LorebookEntry, LorePosition
from tui_chat.models.preset import Preset
from tui_chat.models.role import Character, DepthPrompt, Profile, Role
from tui_chat.models.settings import AuthorNote, LoreRules
from tui_chat.plugins.sillytavern.presets import parse_sillytavern_preset

WORDS = (__doc__ or "").split()
PLACES: tuple[LorePosition, ...] = ("before_character", "after_character", "depth")
MARKERS = (
    *("main", "worldInfoBefore", "personaDescription", "charDescription", "worldInfoAfter"),
    *("dialogueExamples", "chatHistory", "jailbreak"),
)


def text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def preset(chance: random.Random, *, squash: bool) -> Preset:
    prompts: list[dict[str, object]] = []
    for number in range(262):
        content = text(chance, 40) + " {{char}} {{getvar::x}}"
        prompt = {"identifier": f"p{number}", "role": "system", "content": content}
        if number % 10 == 0:
            prompt |= {"injection_position": 1, "injection_depth": number % 7}
        prompts.append({**prompt, "system_prompt": False})
    names = [*(str(prompt["identifier"]) for prompt in prompts), *MARKERS]
    order = [{"identifier": name, "enabled": True} for name in names]
    found = {
        "prompts": prompts,
        "prompt_order": [{"character_id": 100001, "order": order}],
        "new_chat_prompt": "[New]",
        "squash_system_messages": squash,
    }
    return parse_sillytavern_preset(json.dumps(found), "benchmark", "benchmark").preset


def book(chance: random.Random, timed_entries: int) -> Lorebook:
    keyed = [number for number in range(1_000) if number % 100]
    sticky = {keyed[number * len(keyed) // timed_entries] for number in range(timed_entries)}
    entries = tuple(
        LorebookEntry(
            f"e{number}",
            text(chance, 30),
            (f"/{chance.choice(WORDS)}.{{0,9}}k{number}\\b/i",)
            if number % 2
            else (f"key{number}", f"{chance.choice(WORDS)}{number}"),
            position=PLACES[number % 3],
            insertion_point=-4,
            constant=number % 100 == 0,
            sticky=3 if number in sticky else 0,
            cooldown=5 if number in sticky and number % 3 else 0,
        )
        for number in range(1_000)
    )
    return Lorebook("benchmark", entries, scan_depth=4)


def timed(inputs: Inputs) -> float:
    """Compose a request with its bytes; return the milliseconds of processor time."""
    began = time.process_time()
    assert compose(with_lore_timers(inputs)).payload.body
    return (time.process_time() - began) * 1000


def inputs(*, squash: bool = False, timed_entries: int = 0, frequent: bool = False) -> Inputs:
    """Return a conversation of 5,000 messages that nothing has seen, with all that is sent."""
    chance = random.Random(1)
    seed = 4 * timed_entries + 2 * frequent + squash
    history = tuple(
        replace(message, content=f"{message.content} {{{{user}}}}") if n % 50 == 0 else message
        for n, message in enumerate(conversation(5_000, seed))
    )
    if frequent:
        history = tuple(
            replace(message, content=f"{message.content} key{2 * chance.randrange(500)}")
            for message in history
        )
    card = Character(
        description=text(chance, 200),
        example_dialogues="<START>\n{{user}}: a\n{{char}}: b\n" * 5,
        depth_prompt=DepthPrompt("{{char}} is calm."),
    )
    return Inputs(
        Endpoint("b", Protocol.OPENAI_CHAT, "https://bench.invalid", models=("gpt-4o",)),
        preset(chance, squash=squash),
        history,
        "Hello",
        role=Role("r", "Mira", character=card),
        profile=Profile("Alex", "{{user}} is a sailor."),
        settings=SessionSettings(
            author_note=AuthorNote("Be brief."), lore=LoreRules(names=True, budget_percent=25)
        ),
        context_limit=200_000,
        reply_reserve=1_000,
        lorebooks=(book(chance, timed_entries),),
    )


def measure(given: Inputs) -> tuple[float, float]:
    """Return the milliseconds of the first compose, and the median of a keystroke."""
    first = timed(given)
    keys = [timed(replace(given, draft=f"Hello{'!' * number}")) for number in range(20)]
    return first, statistics.median(keys)


def show(what: str, given: Inputs) -> None:
    first, keystroke = measure(given)
    print(f"{what}: first {first:.1f}, keystroke {keystroke:.2f}", flush=True)


def main() -> None:
    for squash in (False, True):
        what = "squashed" if squash else "not squashed"
        show(what, inputs(squash=squash))
    for entries in map(int, sys.argv[1:] or ("0", "10", "100", "990")):
        for frequent in (False, True):
            keys = "frequent" if frequent else "rare"
            given = inputs(timed_entries=entries, frequent=frequent)
            show(f"{entries} timed, {keys} keys", given)


if __name__ == "__main__":
    main()
