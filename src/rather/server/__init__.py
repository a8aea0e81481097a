"""A page that asks people, and keeps what they say: `rather serve`."""
