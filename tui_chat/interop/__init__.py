"""Reading and writing conversations as others write them. Pure: bytes in, values out, and back.

conversations  all conversations of a file, whatever kind it is; it shows in the content
own_json       our own JSON, without loss
chatgpt  claude  sillytavern
               the exports of others, one module each
messages       JSON and JSON lines of unified messages, as conversations; history: as messages
markdown  html for people to read; captions is what stands over a message in both
json_pieces    JSON that arrives in pieces, value by value
found          what readers hand out; branch: the way through a tree; moments: points in time

docs/formats.md tells what is read of each format and what is not.
"""
