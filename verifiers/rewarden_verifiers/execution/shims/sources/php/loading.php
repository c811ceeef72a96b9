<?php
// Finds the names that a program defines.
declare(strict_types=1);

namespace Rewarden;

const NAME = '/\A[A-Za-z_]\w*\z/';

// Returns the function of a target, `f` or `Solution.f` (of a new object); null where there is none.
function find(string $target, array $init = []): ?callable
{
    [$name, $method] = [...\explode('.', $target), null];
    if (\preg_match(NAME, $name) !== 1) {
        return null;
    }
    if ($method !== null) {
        $class = \class_exists($name, false) ? $name : within($name, \get_declared_classes());
        return $class !== null && \method_exists($class, $method) ? [new $class(...$init), $method] : null;
    }
    if (\function_exists($name)) {
        return $name;
    }
    $held = $GLOBALS[$name] ?? null;
    return $held instanceof \Closure ? $held : within($name, \get_defined_functions()['user']);
}

// Returns the full name of something in a namespace of the program's.
function within(string $name, array $all): ?string
{
    foreach ($all as $full) {
        if (!\str_starts_with(\strtolower($full), 'rewarden\\') && \str_ends_with(\strtolower($full), '\\' . \strtolower($name))) {
            return $full;
        }
    }
    return null;
}
