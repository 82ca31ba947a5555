"""Suites, variants and stores of the prompt lab."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.support.vendors import ENDPOINTS
from tui_chat.cli.app import new_id
from tui_chat.context import Inputs
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.values import (
    NO_ENDPOINT,
    NO_PRESET,
    Case,
    ReplyCheck,
    Suite,
    Variant,
)
from tui_chat.store import Store

LOOPBACK = next(each for each in ENDPOINTS if each.name == "loopback")


def make_case(draft: str, *checks: ReplyCheck, history: tuple[Message, ...] = ()) -> Case:
    inputs = Inputs(NO_ENDPOINT, NO_PRESET, draft=draft, history=history)
    return Case(key=draft, name=draft, inputs=inputs, checks=checks)


def make_variant(name: str, *prompts: str, model: str = "echo") -> Variant:
    numbers = count(1)
    messages = tuple(PresetMessage(f"m{next(numbers)}", content=text) for text in prompts)
    history = PresetMessage("history", type="chat_history")
    return Variant(name, Preset(name, (*messages, history)), LOOPBACK, model)


def make_suite(*cases: Case, source: str = "/suites/talk.eval.json") -> Suite:
    return Suite("talk", source, cases)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chat.db"


@pytest.fixture
async def store(database: Path) -> AsyncIterator[Store]:
    async with await Store.open(database, now=time.time, new_id=new_id) as opened:
        yield opened


@pytest.fixture
async def lab(store: Store) -> LabStore:
    return await LabStore.open(store)


def renamed(suite: Suite, name: str) -> Suite:
    return replace(suite, name=name, source=name)
