"""File formats of results, one module each. :mod:`modak.ingest` lists them, and says what a format is."""
