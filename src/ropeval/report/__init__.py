"""Showing results: tables for the terminal, pictures for files."""
