raise OSError("no such luck")
