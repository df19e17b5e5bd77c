"""The base of all ops: their table, what each takes and answers, and what several share."""
