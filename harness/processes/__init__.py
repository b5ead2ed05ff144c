"""Slots in processes of their own: the same roles as in threads, other ways between them."""
