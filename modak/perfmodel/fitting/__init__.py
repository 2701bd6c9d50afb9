"""From the results of a series to a fitted curve: cells, the curves that they make, and the forms that are fitted to these."""
