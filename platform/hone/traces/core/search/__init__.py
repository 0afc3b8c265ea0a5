"""An inverted index of words, made and read by us: the embedded PostgreSQL has no extensions.

`terms` cuts texts into what is indexed, `wanted` says what a search needs of the index, `segment`
is its form in rows.
"""
