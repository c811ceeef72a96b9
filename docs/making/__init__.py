"""Makes the generated pages of docs/ (`docs/generate.py`), and fits the pages to the site (`site.py`, for MkDocs)."""
