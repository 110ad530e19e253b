"""Recording: the recorder, and the summaries that stand in a trace for whole tensors.

Knows arrays, events and the sink that takes them. Must not know engines, files, workloads or how
two traces are compared.
"""
