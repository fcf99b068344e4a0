"""The rules that every stack keeps, and the CrossGuard pack that stops an update which does not."""
