"""Plugins in distributions of their own: built as wheels, installed beside the program, enabled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.program import DEVNULL, PIPE, Program, run_program

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parent / "sample_plugin"
HOSTILE = Path(__file__).parent / "hostile_plugin"


def wheel(folder: Path, source: Path = SAMPLE) -> Path:
    """Build a plugin's wheel, without a build backend, which tests cannot download."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    points = "\n".join(
        f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for module in sorted((source / name).glob("*.py")):
            archive.write(module, f"{name}/{module.name}")
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", points + "\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


class Home:
    """A user's folders, with packages beside those of the program."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self._folder = folder

    def install(self, path: Path) -> None:
        words = ("-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target")
        subprocess.run([sys.executable, *words, str(self.site), str(path)], check=True)

    def enable(self, *names: str) -> None:
        config = self._folder / "config"
        config.mkdir(exist_ok=True)
        (config / "config.toml").write_text(f"[plugins]\nenabled = {json.dumps(names)}\n")

    def start(self, *words: str) -> Program:
        return Program(
            self._words(words), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=self._environ()
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run_program(*self._words(words), env=self._environ())

    def _words(self, words: Sequence[str]) -> list[object]:
        folders = "--config-dir", self._folder / "config", "--data-dir", self._folder / "data"
        return [*folders, *words]

    def _environ(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.site), "HOME": str(self._folder)}

    def status(self, name: str) -> dict[str, str]:
        plugins = json.loads(self.run("plugins", "--json").stdout)
        return next((plugin for plugin in plugins if plugin["name"] == name), {})
