"""The registry's data, one file per layer of torch: ``ROWS``, one State each.

Sources: upstream issues as given in ``references``, and torch 2.13 as read, with the versions in
which an attribute came or went where that is known. A row whose accesses one lock covers says so;
a row that other threads may see without any lock is what a race is made of.
"""
