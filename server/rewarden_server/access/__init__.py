"""The control of access: what each caller may ask and how often, and what is written down of it."""
