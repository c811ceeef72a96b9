import sys

word, _, text = sys.stdin.readline().strip().partition(" ")
if word == "echo":
    print("é " + text)
elif word == "exit":
    sys.exit(3)
elif word == "crash":
    raise RuntimeError(text)
elif word == "spin":
    while True:
        pass
elif word == "memory":
    held = []
    while True:
        held.append(bytearray(b"x" * (1 << 20)))
