"""Rules that a stack must keep, and the policy pack that stops an update which breaks one."""
