"""One contract per axis, held against every file of its folder: a new file is tested as it is."""
