"""Other libraries' side of comparisons, run in a virtual environment of their own."""
