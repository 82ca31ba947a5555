"""Mutation testing: change the code in small ways, and see if a test notices.

    uv run python -m tests.tools.mutants [--sample 200] [--seed 1]
        [--only PART_OF_A_PATH ...] [--seconds 15] [--fast]

A mutant differs from a function of the parts in `TESTS` in one place: another comparison, a
condition negated, a constant changed, a call left out. The tests of the mutated files are collected
once. Each mutant runs in a fork of this process, where its code replaces the function's, with the
tests that call this function, the quickest first, until one fails. What survives is printed with
its place; the score is the share that was killed. Sentences (strings with a space) stay as they
are.

mutmut and cosmic-ray start the tests anew for every mutant: here that is 3 s for each of about
35,000. Needs `os.fork`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {
    "tui_chat/context/": (
        "tests/unit/context",
        "tests/protocols/test_same_request.py",
        "tests/protocols/test_provenance.py",
        *(("tests/plugins/sillytavern",) if (ROOT / "tests/plugins/sillytavern").is_dir() else ()),
    ),
    "tui_chat/protocols/": ("tests/protocols",),
    "tui_chat/workspace/": (
        "tests/unit/workspace",
        "tests/cli/test_character_cards.py",
        "tests/cli/test_export.py",
    ),
    "tui_chat/store/": (
        "tests/unit/store",
        "tests/unit/workspace/test_branches.py",
        "tests/unit/workspace/test_windows.py",
        "tests/unit/workspace/test_temporary.py",
        "tests/unit/workspace/test_titles.py",
        "tests/unit/workspace/test_unsaved_writes.py",
        "tests/cli/test_usage.py",
        *(("tests/plugins/maintenance",) if (ROOT / "tests/plugins/maintenance").is_dir() else ()),
    ),
    "tui_chat/models/": ("tests/unit/models", "tests/unit/context"),
    "tui_chat/library/": ("tests/unit/library",),
    "tui_chat/cli/": ("tests/cli",),
    **{
        f"tui_chat/plugins/{folder.name}/": (folder.relative_to(ROOT).as_posix(),)
        for folder in sorted((ROOT / "tests/plugins").iterdir())
        if (folder / "__init__.py").is_file()
    },
    "tui_chat/ui/": (
        "tests/app/test_app.py",
        "tests/app/test_commands.py",
        "tests/app/test_keys.py",
        "tests/app/test_key_queue.py",
        "tests/app/test_panes.py",
        "tests/app/test_notifications.py",
        "tests/app/test_themes.py",
    ),
    "tui_chat/ui/dialogs/": (
        "tests/app/test_session_organization.py",
        "tests/plugins/sillytavern/lore/test_dialogs.py",
        "tests/app/test_profiles.py",
        "tests/app/test_roles.py",
        "tests/app/test_session_settings.py",
        "tests/app/test_status_line.py",
    ),
    "tui_chat/ui/sessions/": (
        "tests/unit/ui/sessions",
        "tests/app/test_session_list.py",
        "tests/app/test_session_organization.py",
    ),
    "tui_chat/ui/terminal/": ("tests/unit/ui/terminal", "tests/app/test_keys.py"),
    "tui_chat/ui/widgets/": ("tests/unit/ui", "tests/app/test_panes.py"),
    **{
        f"tui_chat/ui/{area}/": (f"tests/unit/ui/{area}", *journeys)
        for area, journeys in {
            "chat": (
                "tests/app/test_app.py",
                "tests/app/test_app_messages.py",
                "tests/app/test_attachments.py",
                "tests/app/test_compaction.py",
                "tests/app/test_composer.py",
                "tests/app/test_conversation.py",
                "tests/app/test_streaming.py",
                "tests/app/test_tool_question.py",
                "tests/app/test_disk_full.py",
            ),
            "inspector": (
                "tests/app/test_inspector_body.py",
                "tests/app/test_inspector_in_app.py",
                "tests/app/test_inspector_views.py",
            ),
            "presets": ("tests/app/test_preset_files.py", "tests/app/test_preset_steps.py"),
        }.items()
    },
}
"""Where the mutated files begin, and the tests that should notice; of several, the longest."""
MIN_SECONDS = 10.0
"""The least time that the tests of a mutant get; a mutant that takes longer is killed too."""

Function = tuple[str, str]
"""A file, and the qualified name and first line of a function in it."""
_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    function: Function
    number: int
    """Of the node in its function, in the order of `ast.walk`."""
    line: int
    change: str


def functions(tree: ast.Module, before: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions and methods of a module, without those inside of functions, and their
    names with the first line: a name may be there twice.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{before}{node.name}:{first}", node
        elif isinstance(node, ast.ClassDef):
            inner = ast.Module(node.body, [])
            yield from functions(inner, f"{before}{node.name}.")


def nodes(function: ast.AST) -> list[ast.AST]:
    """Return the nodes of a function's body that run."""
    inner: list[ast.AST] = []
    waiting: list[ast.AST] = list(getattr(function, "body", []))
    while waiting:
        node = waiting.pop(0)
        inner.append(node)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "args") or isinstance(node, ast.Call):
                children = value if isinstance(value, list) else [value]
                waiting += [child for child in children if isinstance(child, ast.AST)]
    return inner


def change(node: ast.AST) -> tuple[str, Callable[[], None]] | None:
    """Return what can be changed in a node, and how; None if nothing."""
    operator = getattr(node, "op", None) or (getattr(node, "ops", None) or [None])[0]
    if (other := _OPPOSITE.get(type(operator))) is not None:
        description = f"{type(operator).__name__} -> {other.__name__}"
        if isinstance(node, ast.Compare):
            return description, lambda: node.ops.__setitem__(0, other())  # type: ignore[arg-type]
        return description, lambda: setattr(node, "op", other())
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return "not x -> bool(x)", lambda: setattr(node, "op", ast.UAdd())
        case ast.If() | ast.IfExp() | ast.While() | ast.comprehension(ifs=[_]):

            def negate() -> None:
                if isinstance(node, ast.comprehension):
                    node.ifs = [ast.UnaryOp(ast.Not(), node.ifs[0])]
                else:
                    node.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]

            return "condition negated", negate
        case ast.Constant(value=bool(value)):
            return f"{value} -> {not value}", lambda: setattr(node, "value", not value)
        case ast.Constant(value=int(value)):
            return f"{value} -> {value + 1}", lambda: setattr(node, "value", value + 1)
        case ast.Constant(value=str(value)) if value and " " not in value:
            return f"{value!r} changed", lambda: setattr(node, "value", f"{value}XX")
        case ast.Return(value=ast.AST()):
            return "returns None", lambda: setattr(node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Expr(value=ast.YieldFrom() | ast.Yield()):
            return "statement left out", lambda: setattr(node, "value", ast.Constant(None))
        case ast.Continue() | ast.Break():
            return "loop control left out", lambda: setattr(node, "__class__", ast.Pass)
    return None


def tests_of(path: Path) -> tuple[str, ...]:
    """Return the folders and files with the tests of a file; none if it is not mutated."""
    name = path.relative_to(ROOT).as_posix()
    found = TESTS.get(max(filter(name.startswith, TESTS), key=len, default=""), ())
    return tuple(each for each in found if (ROOT / each).exists())


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    for name, function in functions(ast.parse(path.read_text(encoding="utf-8"))):
        for number, node in enumerate(nodes(function)):
            if (possible := change(node)) is not None:
                line = getattr(node, "lineno", 0) or getattr(node.target, "lineno", 0)  # type: ignore[attr-defined]
                yield Mutant((str(path.relative_to(ROOT)), name), number, line, possible[0])


def compiled(path: str, edit: Callable[[str, ast.AST], None]) -> dict[str, CodeType]:
    """Return the functions' code of a file by qualified name, after an edit of each one's tree."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names: set[str] = set()
    for name, function in functions(tree):
        edit(name, function)
        names.add(name)
    codes: dict[str, CodeType] = {}

    def collect(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes[name_of(constant)] = constant
                collect(constant)

    collect(compile(ast.fix_missing_locations(tree), str(ROOT / path), "exec", dont_inherit=True))
    return {name: code for name, code in codes.items() if name in names}


def name_of(code: CodeType) -> str:
    return f"{code.co_qualname}:{code.co_firstlineno}"


def live_functions() -> dict[Function, list[FunctionType]]:
    """Return the functions that exist, by file and name."""
    live: dict[Function, list[FunctionType]] = {}
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and item.__code__.co_filename.startswith(str(ROOT)):
            path = item.__code__.co_filename.removeprefix(f"{ROOT}/")
            live.setdefault((path, name_of(item.__code__)), []).append(item)
    return live


def replace_code(
    function: Function, code: CodeType, live: dict[Function, list[FunctionType]]
) -> None:
    """Give the functions of that name other code."""
    for copy in live.get(function, ()):
        if len(copy.__code__.co_freevars) == len(code.co_freevars):
            copy.__code__ = code


@dataclass(eq=False)
class Runner:
    """Takes the place of pytest's loop over the tests."""

    mutants: list[Mutant]
    most_seconds: float
    failed: bool = False

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # the suite's objects would not be listed
        for mutant in self.mutants:  # the program loads some modules when it needs them
            importlib.import_module(mutant.function[0].removesuffix(".py").replace("/", "."))
        live, items = live_functions(), session.items
        assert live
        print(f"\n{len(items)} tests; which functions does each call? ...", flush=True)
        calls, seconds = self._observe(items, live)
        killed: dict[str, int] = {}
        for count, mutant in enumerate(self.mutants, 1):
            chosen = sorted((s, i) for i, s in seconds.items() if mutant.function in calls[i])
            while len(chosen) > 1 and sum(s for s, _ in chosen) > self.most_seconds:
                chosen.pop()
            verdict = self._try(
                mutant, [items[i] for _, i in chosen], sum(s for s, _ in chosen), live
            )
            killed[verdict] = killed.get(verdict, 0) + 1
            if verdict not in ("killed", "too slow"):
                path, name = mutant.function
                print(f"{path}:{mutant.line}: {name}: {mutant.change} [{verdict}]", flush=True)
            if count % 20 == 0:
                print(f"... {count} of {len(self.mutants)}: {killed}", flush=True)
        dead = killed.get("killed", 0) + killed.get("too slow", 0)
        share = dead / max(1, len(self.mutants))
        print(f"{dead} of {len(self.mutants)} killed: {share:.1%}, {killed}")
        return True

    def _observe(
        self, items: list[pytest.Item], live: dict[Function, list[FunctionType]]
    ) -> tuple[dict[int, set[Function]], dict[int, float]]:
        """Return the functions that each test calls, and its seconds."""
        with tempfile.NamedTemporaryFile() as file:
            if (child := os.fork()) == 0:
                reached: set[Function] = set()
                for path in {mutant.function[0] for mutant in self.mutants}:

                    def note(name: str, tree: Any, path: str = path) -> None:
                        call = f"__import__('builtins').reached.add(({path!r}, {name!r}))"
                        tree.body.insert(0, ast.parse(call).body[0])

                    for name, code in compiled(path, note).items():
                        replace_code((path, name), code, live)
                __import__("builtins").reached = reached
                observed: list[tuple[float, list[Function]]] = []
                for item in items:
                    reached.clear()
                    began = time.perf_counter()
                    self._run([item])
                    if self.failed:
                        print(f"{item.nodeid} fails without a mutant", flush=True)
                        self.failed = False
                    observed.append((time.perf_counter() - began, sorted(reached)))
                Path(file.name).write_text(json.dumps(observed))
                os._exit(0)
            os.waitpid(child, 0)
            observed = json.loads(Path(file.name).read_text())
        calls = {
            i: {(path, name) for path, name in reached} for i, (_, reached) in enumerate(observed)
        }
        return calls, {i: spent for i, (spent, _) in enumerate(observed)}

    def _run(self, items: list[pytest.Item]) -> None:
        """Run tests until one fails."""
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                return

    def _try(
        self,
        mutant: Mutant,
        items: list[pytest.Item],
        seconds: float,
        live: dict[Function, list[FunctionType]],
    ) -> str:
        """Return what becomes of a mutant."""
        if not items:
            return "no test"
        (path, name), sys.stdout = mutant.function, sys.__stdout__

        def edit(edited: str, tree: ast.AST) -> None:
            if edited == name:
                possible = change(nodes(tree)[mutant.number])
                assert possible is not None
                possible[1]()

        if (child := os.fork()) == 0:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            replace_code(mutant.function, compiled(path, edit)[name], live)
            self._run(items)
            os._exit(1 if self.failed else 0)
        process = os.pidfd_open(child)
        ready, _, _ = select.select([process], [], [], max(MIN_SECONDS, 4 * seconds))
        os.close(process)
        if not ready:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        return "too slow" if not ready else "survived" if status == 0 else "killed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--seconds", type=float, default=1e9, help="of tests for a mutant, at most")
    parser.add_argument("--fast", action="store_true", help="without the tests marked slow")
    chosen = parser.parse_args()
    os.nice(5)
    files = [path for path in sorted((ROOT / "tui_chat").rglob("*.py")) if tests_of(path)]
    mutants = [
        mutant
        for path in files
        if any(part in path.relative_to(ROOT).as_posix() for part in chosen.only)
        for mutant in mutants_of(path)
    ]
    sample = random.Random(chosen.seed).sample(mutants, min(chosen.sample, len(mutants)))
    named = sorted({test for mutant in sample for test in tests_of(ROOT / mutant.function[0])})
    # Of a folder and a file in it, pytest collects the file alone.
    tests = [test for test in named if not any(test.startswith(f"{other}/") for other in named)]
    print(f"{len(mutants)} mutants, {len(sample)} tried", flush=True)
    arguments = [
        "-s",
        "-p",
        "no:terminal",
        "-o",
        "addopts=--benchmark-disable",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--assert=plain",
        *(("-m", "not slow") if chosen.fast else ()),
        *tests,
    ]
    sys.exit(pytest.main(arguments, plugins=[Runner(sample, chosen.seconds)]))


if __name__ == "__main__":
    main()
