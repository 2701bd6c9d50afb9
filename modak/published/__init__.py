"""Systems, rules, models and images in the shapes of the published MODAK, whose addresses :mod:`modak.api.published` has.

:mod:`~modak.published.shapes` writes them, :mod:`~modak.published.posted` and :mod:`~modak.published.postedsystems` read what is sent.
"""
