"""Conversions between encodings: what can be said in another form, and what cannot."""
