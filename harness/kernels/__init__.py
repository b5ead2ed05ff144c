"""Written for speed on a GPU: block masks, the optimizer, softmax; and the ground under flex."""
