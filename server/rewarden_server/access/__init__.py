"""Access control: what each caller may request and how often, and the audit log."""
