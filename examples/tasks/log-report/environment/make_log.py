"""Prints a log."""

for number in range(2000):
    status = 500 + number % 4 if number % 17 == 0 else 200
    print(f"12:{number // 60 % 60:02}:{number % 60:02} {status} {number * 7919 % 4096} /page/{number % 13}")
