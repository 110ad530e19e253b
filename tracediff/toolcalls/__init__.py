"""What an agent does to the world: from proposed bytes to an effect that happens exactly once.

One step a module: parse, check, normalise, authorise, confirm, execute, encode; the calendar
service and its client. Must not know models, recorders or files of traces.
"""
