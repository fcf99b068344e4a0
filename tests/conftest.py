"""Shared fixtures. No test sleeps, needs order, or touches a network beyond loopback."""
