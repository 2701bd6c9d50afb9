"""Results: metrics and units, suspicious values, comparisons, and reports of jobs."""
