"""The base of the models that check files with pydantic. Importing it takes 50 ms and 6 MB, so no
module that the first screen needs imports it.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FileModel(BaseModel):
    """The content of a file, with our field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
