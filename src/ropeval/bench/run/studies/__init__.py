"""Study files that ship with ropeval."""
