"""Keys are kept in both databases."""

from tests.store.conftest import store, url

__all__ = ["store", "url"]
