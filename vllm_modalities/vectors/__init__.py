"""Vectors as numpy arrays: reading them off the wire, and what one does with them."""
