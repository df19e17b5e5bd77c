"""What people and agents remark on: annotations, their threads, and reviews."""
