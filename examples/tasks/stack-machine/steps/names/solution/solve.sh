#!/bin/bash
cat >/app/stack.py <<'END'
import operator

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def run(text: str) -> int:
    stack: list[int] = []
    names: dict[str, int] = {}
    words = text.split()
    for place, word in enumerate(words):
        if word in OPERATORS:
            if len(stack) < 2:
                raise ValueError(word)
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[word](left, right))
        elif word == "=":
            if not stack:
                raise ValueError(word)
            names[words[place - 1]] = stack.pop()
        elif not word.isidentifier():
            stack.append(int(word))
        elif words[place + 1 : place + 2] != ["="]:
            if word not in names:
                raise ValueError(word)
            stack.append(names[word])
    if len(stack) != 1:
        raise ValueError(text)
    return stack[0]
END
