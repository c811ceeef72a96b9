#!/bin/bash
cat >/app/stack.py <<'END'
import operator

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def run(text: str) -> int:
    stack: list[int] = []
    for word in text.split():
        if word in OPERATORS:
            if len(stack) < 2:
                raise ValueError(word)
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[word](left, right))
        else:
            stack.append(int(word))
    if len(stack) != 1:
        raise ValueError(text)
    return stack[0]
END
