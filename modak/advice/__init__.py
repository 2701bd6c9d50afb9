"""Advice that the script does not carry out."""
