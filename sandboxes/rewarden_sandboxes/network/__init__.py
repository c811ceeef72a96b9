"""The network of boxes: none, or a few names, reached through a proxy of the host's that records each request.

A box never has a network of its own. Its namespace has one listening socket, which the host accepts connections from.
"""
