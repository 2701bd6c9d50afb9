"""What names, paths and command lines may look like, how JSON and units are read, and how numbers are written for people."""
