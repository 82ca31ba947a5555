"""Reading and writing conversations in the formats of other programs. Pure: bytes <-> values.

format_detection     all conversations of a file, whatever its format
own_json             our own JSON, without loss
chatgpt, claude, sillytavern
                     the exports of other programs
messages             JSON and JSON lines of unified messages
markdown, html       for people to read; readable_parts: what both show of a message and session
json_stream          JSON that arrives in pieces, read value by value
transcript_builder   a conversation while it is read, and the result or fault of reading it
timestamps           times in the notations of other programs

docs/formats.md says what is read of each format and what is not.
"""
