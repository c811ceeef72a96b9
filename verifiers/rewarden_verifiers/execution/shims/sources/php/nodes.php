<?php
// Lists to linked lists and trees, and back, by the hints of a request: `ListNode`, `TreeNode`, `List[ListNode]`.
declare(strict_types=1);

namespace Rewarden;

const MAX_NODES = 100_000;

// LeetCode provides these classes: a program that does not define them finds them.
function provide(): void
{
    if (!\class_exists('ListNode')) {
        eval('class ListNode { public function __construct(public $val = 0, public $next = null) {} }');
    }
    if (!\class_exists('TreeNode')) {
        eval('class TreeNode { public function __construct(public $val = 0, public $left = null, public $right = null) {} }');
    }
}

function inner(?string $hint): ?string
{
    return \preg_match('/\A[Ll]ist\[(.+)\]\z/', $hint ?? '', $found) === 1 ? $found[1] : null;
}

function build(?string $hint, mixed $value): mixed
{
    if (inner($hint) !== null) {
        return \array_map(fn ($part) => build(inner($hint), $part), $value);
    }
    if ($hint === 'ListNode') {
        $node = null;
        foreach (\array_reverse($value ?? []) as $val) {
            $rest = $node;
            $node = new \ListNode($val);
            $node->next = $rest;
        }
        return $node;
    }
    return $hint === 'TreeNode' ? tree($value ?? []) : $value;
}

// Level by level; null stands for a missing child.
function tree(array $values): ?object
{
    if ($values === [] || $values[0] === null) {
        return null;
    }
    $root = new \TreeNode($values[0]);
    $waiting = [$root];
    for ($at = 1, $parent = 0; $at < \count($values); $parent++) {
        foreach (['left', 'right'] as $side) {
            $value = $values[$at++] ?? null;
            if ($value !== null) {
                $waiting[] = $waiting[$parent]->$side = new \TreeNode($value);
            }
        }
    }
    return $root;
}

function flatten(?string $hint, mixed $value): mixed
{
    if (inner($hint) !== null && \is_array($value)) {
        return \array_map(fn ($part) => flatten(inner($hint), $part), $value);
    }
    if ($hint !== 'ListNode' && $hint !== 'TreeNode') {
        return $value;
    }
    $values = [];
    $waiting = [$value];
    for ($at = 0; $at < \count($waiting); $at++) {
        $node = $waiting[$at];
        if ($at >= MAX_NODES) {
            throw new Uncrossable('nodes without an end');
        }
        if ($node !== null) {
            $values[] = $node->val;
            \array_push($waiting, ...($hint === 'TreeNode' ? [$node->left, $node->right] : [$node->next]));
        } elseif ($hint === 'TreeNode') {
            $values[] = null;
        }
    }
    while ($hint === 'TreeNode' && $values !== [] && \end($values) === null) {
        \array_pop($values);
    }
    return $values;
}
