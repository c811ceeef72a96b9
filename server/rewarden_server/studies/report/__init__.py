"""The HTML report of scored files: one self-contained page. See docs/rescoring.md.

`rows` (scored files to what the page shows) → `excerpt` (texts cut to size, the judged answer marked) → `page`
(everything into one file: `page.html`, `page.css`, `js/`).
"""
