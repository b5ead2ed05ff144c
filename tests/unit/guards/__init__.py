"""The remedies: red without, green with, and torch exactly as it was afterwards."""
