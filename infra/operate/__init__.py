"""A live look at Google Cloud, by Google's own clients. Everything here only reads."""
