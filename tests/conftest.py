"""Settings of every test: hypothesis never fails a test for being slow."""

import os

from hypothesis import settings

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=200, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
