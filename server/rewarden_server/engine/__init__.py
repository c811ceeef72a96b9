"""The engine: admission, groups, cache, and the lanes where work runs."""
