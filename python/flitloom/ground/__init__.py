"""What every room stands on: files in and out, numbers, processes, limits; it knows nothing of networks."""
