"""A policy that samples and learns over the Tinker API."""
