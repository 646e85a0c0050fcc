"""What every package may use and that is about none of them: files and their sums, archives, processes, amounts."""
