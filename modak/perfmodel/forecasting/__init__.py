"""From a curve to its costs at any size: by its own forms, by what other curves of the application show, and by runs that were stopped."""
