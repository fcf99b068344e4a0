"""What declared resources cost a month: low, expected and high. Decimal, dated, never guessed."""
