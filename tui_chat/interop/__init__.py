"""Conversations in files: our own forms, and what readers of others share. Pure: text <-> values.

formats              how a format is described; the result or error of reading a conversation
own_json             our own JSON, without loss
messages             lines of unified messages
markdown             for people to read; readable_parts is what other such exports share with it
transcript_builder   builds a transcript
timestamps           times in the notations of other programs

docs/formats.md says what is imported from each format.
"""
