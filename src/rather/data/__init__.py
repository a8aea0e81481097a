"""What people said: frames and files in, ids and codes, comparisons and their sources; and data to try things on."""
