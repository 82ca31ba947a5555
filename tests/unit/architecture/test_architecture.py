"""Which package may import which, statically and at run time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tui_chat
from tests.support.tables import each_row

PACKAGE = Path(tui_chat.__file__).parent
PURE = ("models", "context", "protocols", "compose.py", "tokens", "errors.py")

COMPOSE_A_REQUEST = """
import sys
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset
for protocol in Protocol:
    endpoint = Endpoint("e", protocol, "https://e.invalid", models=("gpt-4o",))
    composed = compose(Inputs(endpoint, Preset("p"), draft="hello"))
    assert b"hello" in composed.payload.body and composed.payload.text
print("\\n".join(sys.modules))
"""


def test_imports_fall_one_way():
    """All contracts of pyproject.toml hold."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.fixture(scope="module")
def loaded_by_composing() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", COMPOSE_A_REQUEST], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.slow
@each_row(
    "module",
    ["httpx", "textual", "rich", "aiosqlite", "sqlite3", "asyncio", "socket", "ssl",
     "random", "secrets", "platformdirs", "click", "tui_chat.store", "tui_chat.providers"],
)  # fmt: skip
def test_composing_a_request_does_not_load(module: str, loaded_by_composing: set[str]):
    assert module not in loaded_by_composing


def test_composing_a_request_loads_what_it_needs(loaded_by_composing: set[str]):
    assert {"tui_chat.compose", "tui_chat.protocols.gemini.encode"} <= loaded_by_composing


def pure_modules() -> list[Path]:
    found: list[Path] = []
    for name in PURE:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


@each_row("path", pure_modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_pure_module_reads_the_clock(path: Path):
    asked = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) != "inputs.now"  # the clock of the inputs
    }
    assert not asked & {"now", "utcnow", "today", "monotonic", "perf_counter", "time_ns"}


def test_the_package_docstring_lists_every_package():
    docstring = tui_chat.__doc__ or ""
    packages = {
        p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    missing = {each for each in packages if not each.startswith("__") and each not in docstring}
    assert not missing


def test_package_docstrings_list_modules_that_exist():
    gone: list[str] = []
    for init in sorted(PACKAGE.rglob("__init__.py")):
        docstring = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        for name in re.findall(r"^([a-z_]+) {2,}\S", docstring, re.MULTILINE):
            folders = [init.parent, *(p for p in init.parent.iterdir() if p.is_dir())]
            if not any((f / f"{name}.py").exists() or (f / name).is_dir() for f in folders):
                gone.append(f"{init.relative_to(PACKAGE)}: {name}")
    assert not gone


@pytest.mark.slow
@each_row(
    "module",
    [
        *("tui_chat.context", "tui_chat.protocols", "tui_chat.store", "tui_chat.providers"),
        *("tui_chat.workspace.workspace", "tui_chat.ui.areas.inspector.inspector"),
        *("tui_chat.ui.areas.presets.pane", "tui_chat.ui.dialogs.base", "httpx", "aiosqlite"),
    ],
)
def test_the_first_frame_does_not_wait_for(module: str, loaded_by_the_app: set[str]):
    assert module not in loaded_by_the_app


@pytest.fixture(scope="module")
def loaded_by_the_app() -> set[str]:
    program = 'import sys, tui_chat.ui.app; print("\\n".join(sys.modules))'
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


_CHEAP_TO_DESCRIBE = re.compile(
    r"(str|int|bool|float|Workspace|[\w.]+(Requested|Chosen|Wanted))( \| None)?"
)


def workers_without_description() -> list[str]:
    """Return the workers whose arguments may be large and that have no description."""
    found: list[str] = []
    for path in sorted((PACKAGE / "ui").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.AsyncFunctionDef | ast.FunctionDef):
                continue
            arguments = [*function.args.args[1:], *function.args.kwonlyargs]
            kinds = [ast.unparse(a.annotation) for a in arguments if a.annotation]
            if all(_CHEAP_TO_DESCRIBE.fullmatch(kind) for kind in kinds):
                continue
            for decorator in function.decorator_list:
                source = ast.unparse(decorator)
                if source.startswith("work") and "description=" not in source:
                    found.append(f"{path.name}: {function.name}")
    return found


def test_workers_with_large_arguments_have_a_description():
    """Textual describes the others by the `repr` of all arguments, which takes a second for the
    request of 10,000 messages.
    """
    assert workers_without_description() == []
