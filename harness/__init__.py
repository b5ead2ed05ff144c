"""The DFlash training loop under test: frozen targets feed drafters, one thread per device.

Imported only inside trial processes (it needs torch) and by its own tests; ``fxrace`` reads
the folder list and the files' first lines, but never imports it.
"""
