raise SystemExit("goodbye again")
