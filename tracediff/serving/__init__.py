"""Serves the toy decoders over HTTP in two vendors' shapes; one trace a request.

Knows HTTP, shapes and faults. Must not know how a token is chosen: `workloads.chat` does. Needs the
extra `serve`; nothing else imports this part but the command that starts it.
"""
