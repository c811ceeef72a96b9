<?php
// One call: the request on stdin, the reply on descriptor 4 (docs/tagged-codec.md, mode `call`).
namespace Rewarden;

require __DIR__ . '/rewarden/values.php';
require __DIR__ . '/rewarden/loading.php';
require __DIR__ . '/rewarden/nodes.php';

function reply(array $said): never
{
    write(4, json($said));
    exit(\array_key_exists('value', $said) ? 0 : 1);
}

function error(\Throwable $fault): array
{
    $said = failure($fault);
    return ['error' => $said['type'], 'message' => $said['message'], 'traceback' => $said['traceback']];
}

function answer(array $request): array
{
    $codec = new Codec(false);
    $hints = $request['types'] ?? [];
    try {
        provide();
        $args = [];
        foreach ($request['args'] as $at => $arg) {
            $args[] = build($hints['args'][(string) $at] ?? null, $codec->decode($arg));
        }
        $found = find($request['target'], \array_map($codec->decode(...), $request['init'] ?? []));
        if ($found === null) {
            return ['missing' => $request['target']];
        }
        return ['value' => $codec->encode(flatten($hints['returns'] ?? null, $found(...$args)))];
    } catch (Uncrossable $fault) {
        return ['uncrossable' => $fault->getMessage()];
    } catch (\Throwable $fault) {
        return error($fault);
    }
}

// Here, and not in a function: the program's variables are global.
try {
    require __DIR__ . '/solution.php';
} catch (\Throwable $fault) {
    reply(error($fault) + ['loading' => true]);
}
reply(answer(\json_decode(\stream_get_contents(\STDIN), true, 1024)));
