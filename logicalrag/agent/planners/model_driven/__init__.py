"""A language model behind the Anthropic Messages API decides; nothing it sends is believed."""
