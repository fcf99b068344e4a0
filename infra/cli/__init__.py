"""The command line: thin. Parse, call, print. No command module imports anything heavy at its top."""
