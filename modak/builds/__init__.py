"""Building images: the one room that runs builders and containers.

Whoever wants an image places an order (:mod:`.order`) in the database, where orders for the same thing are one build. One process a
folder of images, the builder (:mod:`.worker`), takes them in turn: it runs the tool of the image's runtime (:mod:`.apptainer`,
:mod:`.charliecloud`) under a temporary name, runs the image to see what it carries (:mod:`.verify`), and only then gives it its
name and an entry in the catalogue. :mod:`.bundle` carries a finished image to a site without internet.
"""
