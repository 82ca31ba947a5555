"""Reading and writing conversations as others write them. Pure: text in, values out.

history     JSON arrays and JSONL of unified messages
"""
