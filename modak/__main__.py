"""``python -m modak`` is ``modak``."""

from __future__ import annotations

import sys

from modak.cli import main

if __name__ == "__main__":
    sys.exit(main())
