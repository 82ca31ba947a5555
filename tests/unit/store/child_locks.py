"""A program that holds a database until stdin ends.

child_locks.py DATABASE PRAGMA BEGIN
"""

import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA {sys.argv[2]}")
connection.execute(sys.argv[3])
connection.execute("CREATE TABLE IF NOT EXISTS held (x)")
print("held", flush=True)
sys.stdin.read()
