"""What functions declare: schemas, arguments checked by them, and outlines of answers."""
