<?php
// The candidate's room: loads the program and answers questions about it on descriptor 3 (docs/tagged-codec.md, the
// channel). Nothing here decides anything: the candidate may rewrite all of it.
namespace Rewarden;

require __DIR__ . '/rewarden/values.php';
require __DIR__ . '/rewarden/loading.php';

function answer(Codec $codec, array $question): array
{
    try {
        $found = find((string) $question['name']);
        if ($found === null) {
            return ['is' => 'absent'];
        }
        if ($question['op'] !== 'call') {
            return ['is' => 'function'];
        }
        $args = \array_map($codec->decode(...), $question['args']);
        return ['is' => 'value', 'value' => $codec->encode($found(...$args))];
    } catch (Uncrossable $fault) {
        return ['is' => 'uncrossable', 'type' => $fault->getMessage()];
    } catch (\Throwable $fault) {
        return ['is' => 'raised'] + failure($fault);
    }
}

function serve(): never
{
    $channel = new Channel(3);
    $channel->send(['is' => 'loaded']);
    $codec = new Codec(true);
    try {
        while (true) {
            $question = $channel->receive();
            try {
                $channel->send(answer($codec, $question) + ['id' => $question['id']]);
            } catch (Uncrossable $fault) {
                $channel->send(['is' => 'uncrossable', 'type' => $fault->getMessage(), 'id' => $question['id']]);
            }
        }
    } catch (Lost) {
        exit(0);
    }
}

// Here, and not in a function: the program's variables are global.
try {
    require __DIR__ . '/solution.php';
} catch (\Throwable $fault) {
    (new Channel(3))->send(['is' => 'unloaded'] + failure($fault));
    exit(1);
}
serve();
