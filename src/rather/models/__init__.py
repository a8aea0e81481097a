"""What is fitted and what it can then do: AltSVM, its convex twin, and what every model shares."""
