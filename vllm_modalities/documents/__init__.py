"""Images in, pages with words and boxes out; nothing here knows HTTP."""
