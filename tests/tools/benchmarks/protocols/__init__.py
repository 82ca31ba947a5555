"""How fast requests are encoded and streamed replies are read, from memory; see `ours`."""
