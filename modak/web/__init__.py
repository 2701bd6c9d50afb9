"""Pages for a browser: a form that becomes a request, and answers, results, curves and systems to look at.

HTML alone, without scripts, and without anything from other servers. Every value is escaped. The addresses are in :mod:`modak.api.pages`.
"""

from modak.web.rendering import page, static

__all__ = ["page", "static"]
