"""What changed elsewhere: notices, who they are for, and who has seen them."""
