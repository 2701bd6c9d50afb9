"""Text in and out: the grammars of names, paths and commands, a strict reader of JSON, and numbers in words for people."""
