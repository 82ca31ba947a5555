raise SystemExit("goodbye")
