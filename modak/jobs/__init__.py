"""One job in words that no scheduler owns: what it is, how it is put together, and where its data lies."""
