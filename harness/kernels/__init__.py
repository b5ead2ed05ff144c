"""Written for speed on a GPU: block masks, optimizer, softmax, targets; the ground under flex."""
