"""Building images: the only package that runs image builders and containers.

A build begins as an order (:mod:`.order`) in the database; orders for the same image are one build. There is one builder process
(:mod:`.worker`) for each folder of images. It runs the tool of the image's runtime (:mod:`.apptainer`, :mod:`.charliecloud`) under
a temporary name, then runs the image to see what it contains (:mod:`.verify`), and only then gives it its name and an entry in the
catalogue. :mod:`.bundle` packs a finished image for a site without internet.
"""
