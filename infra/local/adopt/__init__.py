"""What stands already becomes a stack's: found by the program itself, and written as the engine's own import file."""
