"""Sound in, transcripts and subtitles out; nothing here knows HTTP."""
