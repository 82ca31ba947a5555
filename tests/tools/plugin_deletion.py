"""Deletes each built-in plugin in turn, in a copy of the tree, and checks what is left.

    python -m tests.tools.plugin_deletion            every plugin, all checks
    python -m tests.tools.plugin_deletion web tap    these plugins
    python -m tests.tools.plugin_deletion --quick    without types, and with fewer tests

Of a plugin go its folder in `tui_chat/plugins` and the one in `tests/plugins`. What is left must
keep its contracts, have correct types, answer `ask` and `build`, start, and pass the tests of the
core: every file of them must be importable, and a selection of all packages is run. The pages in
`docs/` describe the whole program, so the tests of the documentation are not among them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("tui_chat", "tests", "docs", "themes", "sample_presets", "README.md", "pyproject.toml")
START = ("tests/app/test_start.py", "tests/app/test_inspector_in_app.py")
"""Tests that start the app and go through its panes."""
CORE = (
    *("tests/unit/test_loaded_modules.py", "tests/unit/test_plugins.py"),
    "tests/unit/workspace",
    *("tests/unit/context/test_builder.py", "tests/unit/library/test_presets.py"),
    "tests/unit/store/test_sessions.py",
    *("tests/cli/test_build.py", "tests/cli/test_ask.py", "tests/cli/test_captured.py"),
    *("tests/cli/test_output.py", "tests/app/test_panes.py", "tests/app/test_keys.py"),
)
"""Tests of the core, some of each package."""


def built_in_plugins(root: Path) -> list[str]:
    """Return the names of the plugins in a tree."""
    folders = sorted((root / "tui_chat" / "plugins").glob("*/__init__.py"))
    return [manifest.parent.name for manifest in folders]


def copy_without(name: str, folder: Path) -> None:
    """Copy the tree into a folder, without a plugin and its tests."""
    for part in COPIED:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part)
        else:
            shutil.copy(source, folder / part)
    for package in ("tui_chat/plugins", "tests/plugins"):
        shutil.rmtree(folder / package / name, ignore_errors=True)


def checks(home: Path, *, quick: bool) -> dict[str, list[str]]:
    """Return the commands of the checks by name; `home` is a folder for their data."""
    python, bin_folder = sys.executable, Path(sys.executable).parent
    folders = ["--config-dir", str(home / "config"), "--data-dir", str(home / "data")]
    program = [python, "-m", "tui_chat", *folders]
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    found = {
        "contracts": [str(bin_folder / "lint-imports"), "--no-cache"],
        "ask": [*program, "ask", "--model", "echo", "Hello"],
        "build": [*program, "build", "Hello"],
        "imports": [*pytest, "-q", "--collect-only", "tests"],
    }
    if quick:
        return {**found, "start": [*pytest, *START[:1]]}
    return {
        **found,
        "types": [str(bin_folder / "pyright"), "--pythonpath", python],
        "tests": [*pytest, "-n", "2", *START, *CORE],
    }


def check(name: str, *, quick: bool) -> bool:
    """Delete a plugin in a copy and run the checks. Returns False if one fails, with its output
    printed.
    """
    with tempfile.TemporaryDirectory(prefix=f"without-{name}-") as created:
        folder = Path(created)
        tree, home = folder / "tree", folder / "home"
        copy_without(name, tree)
        environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
        passed = True
        for title, command in checks(home, quick=quick).items():
            began = time.monotonic()
            done = subprocess.run(
                command,
                cwd=tree,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            seconds = time.monotonic() - began
            print(f"without {name}: {title:<9} {seconds:5.1f} s", flush=True)
            if done.returncode:
                passed = False
                lines = (done.stdout + done.stderr).splitlines()
                print(*lines[-40:], f"{title} failed without the plugin {name}.", sep="\n")
        return passed


def main(words: list[str]) -> int:
    """Run the checks of the plugins that the words name, else of all; return the exit code."""
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"]
    known = built_in_plugins(ROOT)
    if unknown := set(names) - set(known):
        print(f"No such plugin: {', '.join(sorted(unknown))}. There are {', '.join(known)}.")
        return 2
    results = [check(name, quick=quick) for name in names or known]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
