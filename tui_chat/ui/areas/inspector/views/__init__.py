"""The views of a request other than its body, declared in `inspector.view`.

rows_view  RowsView: a list of rows that are made when they come into sight
context    ContextView: the turns with origin, rule and tokens, and what was left out; its section
           of settings is in settings_rows
request    RequestView: method, URL, headers, size
diff       DiffView: compared with another request
reply      ReplyView: the reply and the response as received
budget     BudgetView: tokens by origin
"""
