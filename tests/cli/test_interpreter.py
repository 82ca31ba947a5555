"""Interpreter settings; benchmarks measure their effect."""

from __future__ import annotations

import asyncio
import platform

import pytest

from tui_chat.cli import interpreter


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has no such thing")
async def test_free_memory_is_returned_repeatedly(monkeypatch: pytest.MonkeyPatch) -> None:
    find = interpreter._c_library_function  # pyright: ignore[reportPrivateUsage]
    trim, given, enough = find("malloc_trim"), list[int](), asyncio.Event()
    assert trim is not None
    assert find("no_such_function") is None

    def give(kept: int) -> int:
        given.append(trim(kept))
        if len(given) == 3:
            enough.set()
        return given[-1]

    monkeypatch.setattr(interpreter, "_SECONDS", 0.0)
    monkeypatch.setattr(interpreter, "_c_library_function", lambda name: give)  # pyright: ignore[reportUnknownLambdaType]
    interpreter.keep_heap_small()
    await enough.wait()
    monkeypatch.setattr(interpreter, "_SECONDS", 1e9)
    assert set(given) <= {0, 1}


async def test_other_c_libraries_are_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert interpreter._c_library_function("malloc_trim") is None  # pyright: ignore[reportPrivateUsage]
    interpreter.share_heap()
    interpreter.keep_heap_small()
