"""One file on its way from JSON to values: the keys it may have, its faults, their places.

1. Keys are camelCase or snake_case; `Keys` knows both spellings of each field of a model.
   Where an object has both spellings of one key, the first one counts, and a finding says so.
2. An unknown key is no fault. It is handed back, to be kept; where it looks like a misspelling
   of a known one, or where nothing would ever read it, a finding says so.
3. null means that a key was left out.
4. Pydantic checks types. Its complaints are said in our words, at the file's own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from tui_chat.errors import InputError
from tui_chat.model.envelope import Level
from tui_chat.preset_files.findings import Finding, as_error
from tui_chat.preset_files.json_text import JsonFault, Lines, Path, parse, path_words, survey

M = TypeVar("M", bound=BaseModel)
