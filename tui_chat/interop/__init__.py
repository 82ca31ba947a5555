"""Parsing and writing conversations. Pure: bytes <-> values.

reader               all conversations of a file, whatever its format; plugins bring more formats
formats              how a format is described
own_json             our own JSON, without loss
messages             JSON and JSON lines of unified messages
markdown             for people to read; readable_parts is what other such exports share with it
json_stream          JSON in pieces, parsed value by value
transcript_builder   builds a transcript; the result or error of parsing one
timestamps           times in the notations of other programs

docs/formats.md says what is imported from each format.
"""
