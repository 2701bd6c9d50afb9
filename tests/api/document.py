"""The OpenAPI document of a service without a database, made once in a process."""

from __future__ import annotations

from typing import Any

from modak.api import create_app
from modak.settings import Settings

NOWHERE = Settings(database_url="sqlite:///nowhere.db")
API: dict[str, Any] = create_app(NOWHERE).openapi()
OPERATIONS = [(path, method) for path, operations in API["paths"].items() for method in operations]
