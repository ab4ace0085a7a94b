"""A vLLM server of any recorded release, without vLLM: it answers as that release was seen to."""
