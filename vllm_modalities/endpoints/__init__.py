"""One file an endpoint: its request body, its result and its flow."""
