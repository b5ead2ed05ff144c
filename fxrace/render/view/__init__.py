"""What all formats share: words and letters, the grid of cells, the answer in one sentence."""
