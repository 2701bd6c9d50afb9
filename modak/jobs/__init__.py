"""A job, independent of any scheduler: what it is, how it is put together, and where its data is."""
