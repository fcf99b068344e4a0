"""What a command line may say: one file a group of commands. Each loads what the command does only when it runs."""
