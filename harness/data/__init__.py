"""What is read: corpora and files of tokens, where documents end, and rows drawn from them."""
