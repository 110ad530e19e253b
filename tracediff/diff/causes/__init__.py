"""Small independent functions that recognise causes; `tracediff.diff.explain` lists them in order.

Each takes the `Findings` of a comparison and returns a `Cause` with its evidence, or None where it
does not apply. None of them guesses: what no function recognises is `unknown`.
"""
