"""Numbers as they are: rationals, radicals, and enclosures of what neither of them is."""
