"""Programs for the environment's own Python: they import torch, and nothing of this package."""
