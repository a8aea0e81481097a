"""Other people's methods, to compare with."""
