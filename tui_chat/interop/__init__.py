"""Conversations in files: our own forms, and what readers of others share. Pure: text <-> values.

formats              how a format is described; the result or error of reading a conversation
own_json             our own JSON, without loss
messages             messages in the form of OpenAI, and lines of them
readable             for people to read: Markdown, and what other such exports share with it
transcript_builder   builds a transcript, with times in the notations of other programs

docs/formats.md says what is imported from each format.
"""
