"""Floor 3: the SQLite file in which every ended trial is kept. ``open_store`` is the door."""

from fxrace.store.door import open_store
from fxrace.store.rows import Run, StoredTrial
from fxrace.store.store import Store

__all__ = ["Run", "Store", "StoredTrial", "open_store"]
