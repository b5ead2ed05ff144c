"""The registry's data, one file per layer of torch: ``ROWS``, one State each.

Sources: upstream issues as given in ``references``, and torch 2.13 as read, with the versions in
which an attribute came or went where that is known. A row whose accesses one lock covers says so;
a row that other threads may see without any lock is what a race is made of.
"""

#: ``since`` of a row whose first torch is not known: the torch it was read in. An older torch may
#: have it too; claiming so unseen would make every trial there blind.
FIRST_READ = (2, 13)
