"""The DFlash models: a frozen target, the drafter it feeds, and the loss terms between them."""
