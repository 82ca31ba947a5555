"""Measures and prints; see the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tools.benchmarks.protocols.given import PROTOCOLS, Figures, conversation
from tests.tools.benchmarks.protocols.ours import our_encoding, our_reading, streams
from tests.tools.benchmarks.protocols.peer import litellm_python
from tests.tools.benchmarks.protocols.sdks import sdk_reading

ROOT = Path(__file__).parents[4]


def serve_streams(folder: Path) -> subprocess.Popen[str]:
    """Start a process that answers every POST with the file of the path's first part."""
    code = (
        "import http.server, pathlib, sys\n"
        "files = {p.name: p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir()}\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    protocol_version = 'HTTP/1.1'\n"
        "    def do_POST(self):\n"
        "        self.rfile.read(int(self.headers.get('content-length') or 0))\n"
        "        body = files[self.path.split('/')[1]]\n"
        "        self.send_response(200)\n"
        "        self.send_header('content-type', 'text/event-stream')\n"
        "        self.send_header('content-length', str(len(body)))\n"
        "        self.end_headers()\n"
        "        self.wfile.write(body)\n"
        "    def log_message(self, *_): pass\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)\n"
        "print(server.server_address[1], flush=True)\n"
        "server.serve_forever()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )


def joined(*all_figures: Figures) -> Figures:
    """Return the figures of several, protocol by protocol."""
    found: Figures = {name: {} for name in PROTOCOLS}
    for figures in all_figures:
        for name, told in figures.items():
            found[name] |= told
    return found


def show(title: str, figures: Figures, amount: dict[str, float], unit: str) -> None:
    """Print how much each did in a second, and how that compares with ours."""
    print(f"\n{title}")
    for name in PROTOCOLS:
        ours = figures[name]["ours"]
        assert isinstance(ours, float)
        cells: list[str] = []
        for who, seconds in figures[name].items():
            if isinstance(seconds, str):
                cells.append(f"{who}: {seconds}")
                continue
            ratio = "" if who == "ours" else f" (ours is {seconds / ours:.1f} times as fast)"
            cells.append(f"{who} {amount[name] / seconds:,.1f} {unit}{ratio}")
        print(f"  {name:<17} {'; '.join(cells)}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="Encode and read throughput per protocol.")
    options.add_argument("--litellm", action="store_true", help="install it and measure it too")
    options.add_argument("--litellm-python", default="", help="an interpreter that has it")
    options.add_argument("--turns", type=int, default=400)
    options.add_argument("--tokens", type=int, default=5_000)
    given = options.parse_args()
    messages = conversation(given.turns)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies = streams(given.tokens)
        (folder / "streams").mkdir()
        for protocol, body in bodies.items():
            (folder / "streams" / protocol).write_bytes(body)
        server = serve_streams(folder / "streams")
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            cold, warm = our_encoding(messages)
            reading = joined(our_reading(url), sdk_reading(url))
            if given.litellm or given.litellm_python:
                python = given.litellm_python or litellm_python(folder)
                place = folder / "litellm.json"
                subprocess.run(
                    [
                        python,
                        "-m",
                        "tests.tools.benchmarks.protocols.peer",
                        url,
                        str(given.turns),
                        place,
                    ],
                    check=True,
                    stderr=subprocess.DEVNULL,
                    cwd=ROOT,
                    env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
                )
                theirs = json.loads(place.read_text(encoding="utf-8"))
                cold, reading = joined(cold, theirs[0]), joined(reading, theirs[1])
        finally:
            server.terminate()
            server.wait()
    count = {name: float(len(messages)) for name in PROTOCOLS}
    size = {name: len(body) / 1e6 for name, body in bodies.items()}
    show(f"Encoding {len(messages)} messages, none seen before", cold, count, "messages/s")
    show("Encoding them again with one changed", warm, count, "messages/s")
    total = ", ".join(f"{name} {size[name]:.1f} MB" for name in PROTOCOLS)
    show(f"Reading a streamed reply ({total})", reading, size, "MB/s")


if __name__ == "__main__":
    main()
