<?php
// The tests' room: runs test code whose names of the candidate are functions that ask the other room. Only values in
// tagged form come in. Options on stdin, the report on descriptor 4 (docs/tagged-codec.md).
namespace Rewarden;

require __DIR__ . '/rewarden/values.php';

const MAX_LISTED = 1000;
const KNOWN_ERRORS = [
    'Exception', 'ErrorException', 'Error', 'TypeError', 'ValueError', 'ArithmeticError', 'DivisionByZeroError',
    'ArgumentCountError', 'UnhandledMatchError', 'LogicException', 'BadFunctionCallException', 'BadMethodCallException',
    'DomainException', 'InvalidArgumentException', 'LengthException', 'OutOfRangeException', 'RuntimeException',
    'OutOfBoundsException', 'OverflowException', 'RangeException', 'UnderflowException', 'UnexpectedValueException',
    'JsonException',
];

// A fault that ends the run. The first one stays: no test can turn it into a pass.
final class Fault extends \Error
{
    public function __construct(public string $kind, string $message, public string $who = 'candidate')
    {
        parent::__construct(brief($message));
    }
}

// An exception of the candidate's whose class is its own.
final class CandidateException extends \Exception
{
}

// The assertion of test code. PHP's own is switched off where php.ini says so, and cannot be switched on by a program.
function checked(mixed $holds, \Throwable|string|null $description = null): bool
{
    if (!$holds) {
        throw $description instanceof \Throwable ? $description : new \AssertionError($description ?? 'an assertion failed');
    }
    return true;
}

// What test code knows of the candidate.
final class Room
{
    private static self $here;
    private Codec $codec;
    private ?Channel $channel;
    private int $uses = 0;
    private int $asked = 0;
    private ?Fault $trouble = null;
    private bool $reported = false;
    private array $borrowed = [];
    private array $raised = [];

    public function __construct(private array $options)
    {
        self::$here = $this;
        $this->codec = new Codec(true);
        $this->channel = $this->shared() ? null : new Channel(3);
    }

    public static function here(): self
    {
        return self::$here;
    }

    public function shared(): bool
    {
        return ($this->options['shared'] ?? false) === true;
    }

    public function greet(): void
    {
        $hello = $this->received("the candidate's process ended while it was loading");
        if (($hello['is'] ?? null) === 'loaded') {
            return;
        }
        if (($hello['is'] ?? null) !== 'unloaded') {
            $this->fail('bad_frame', 'the first frame is no greeting');
        }
        $this->fail('candidate_load', self::text($hello, 'type') . ': ' . self::text($hello, 'message'));
    }

    // Returns the test code with our assertion, after it has made functions of the candidate's of the names that it uses.
    public function install(string $code): string
    {
        [$code, $used, $defined] = $this->read_code($code);
        $entry = $this->options['entry_point'] ?? null;
        $names = $entry === null ? $used : ['candidate', $entry, ...$used];
        foreach (\array_unique($names) as $name) {
            $target = $entry !== null && $name === 'candidate' ? $entry : $name;
            if (isset($defined[\strtolower($name)]) || \function_exists($name) || \preg_match('/\A[A-Za-z_]\w*\z/', $name) !== 1) {
                continue;
            }
            if ($this->shared()) {
                if ($name === 'candidate' && \preg_match('/\A[A-Za-z_]\w*\z/', $target) === 1) {
                    eval("function candidate(...\$args) { return $target(...\$args); }");
                }
            } elseif ($target === $entry || ($this->ask(['op' => 'get', 'name' => $name])['is'] ?? null) === 'function') {
                eval("function $name(...\$args) { return \\Rewarden\\Room::here()->call('$target', \$args); }");
            }
        }
        return $code;
    }

    public function call(string $name, array $given): mixed
    {
        if (($this->options['entry_point'] ?? $name) !== $name) {
            $this->borrowed[$name] = true;
        }
        try {
            if (!\array_is_list($given)) {
                throw new Uncrossable('an argument by name');
            }
            $args = \array_map($this->codec->encode(...), $given);
        } catch (Uncrossable $fault) {
            $this->fail('unsupported', "an argument cannot cross: {$fault->getMessage()}; this needs isolation: shared", 'tests');
        }
        $this->uses++;
        $answer = $this->ask(['op' => 'call', 'name' => $name, 'args' => $args, 'kwargs' => (object) [], 'capture' => false]);
        switch ($answer['is'] ?? null) {
            case 'value':
                try {
                    return $this->codec->decode($answer['value'] ?? null);
                } catch (BadFrame) {
                    $this->fail('bad_frame', 'an answer of no known shape');
                }
                // no break: fail throws
            case 'uncrossable':
                $this->fail('uncrossable_value', 'a value of type ' . self::text($answer, 'type') . ' cannot cross');
                // no break
            case 'absent':
                $this->fail('missing_name', "the candidate has no $name");
                // no break
            case 'raised':
                throw $this->rebuilt($answer);
            default:
                $this->fail('bad_frame', 'no such answer');
        }
    }

    // Writes the report and ends the process. fault: what ended the test code, null where it ran to its end.
    public function report(?\Throwable $fault): void
    {
        if ($this->reported) {
            return;
        }
        $this->reported = true;
        $said = $this->outcome($fault);
        $provenance = $this->borrowed === [] ? [] : ['names_from_candidate' => \array_slice(\array_keys($this->borrowed), 0, MAX_LISTED)];
        $whole = [
            'done' => true, 'kind' => null, 'who' => null, 'message' => '', 'line' => null, 'source' => null,
            'tests' => (object) [], 'calls' => $this->uses, 'provenance' => (object) $provenance,
            'nonce' => $this->options['nonce'],
        ];
        write(4, json([...$whole, ...$said]));
        exit($said['outcome'] === 'passed' ? 0 : 1);
    }

    private function outcome(?\Throwable $fault): array
    {
        if ($this->trouble !== null) {
            $outcome = $this->trouble->who === 'tests' ? 'error' : 'failed';
            $message = $this->trouble->getMessage();
            return ['outcome' => $outcome, 'kind' => $this->trouble->kind, 'who' => $this->trouble->who, 'message' => $message];
        }
        $idle = $this->uses === 0 && !$this->shared();
        if ($fault === null && !$idle) {
            return ['outcome' => 'passed'];
        }
        $message = $fault === null ? 'the test code never used the candidate' : brief($fault::class . ': ' . $fault->getMessage());
        if ($idle) {
            return ['outcome' => 'error', 'kind' => 'test_code', 'who' => 'tests', 'message' => $message];
        }
        // Test code says by an exception of its own that a value is wrong.
        $own = ($fault instanceof \Exception || $fault instanceof \AssertionError) && !\in_array($fault, $this->raised, true);
        return ['outcome' => 'failed', 'kind' => $own ? 'assertion' : 'exception', 'who' => 'candidate', 'message' => $message];
    }

    // Returns code with our assertion, the functions that it calls, and those that it defines, in lower case.
    private function read_code(string $code): array
    {
        $tokens = \PhpToken::tokenize("<?php $code");
        $kept = \array_values(\array_filter($tokens, fn ($token) => !$token->isIgnorable()));
        $used = $defined = [];
        foreach ($kept as $at => $token) {
            [$before, $after] = [$kept[$at - 1] ?? null, $kept[$at + 1] ?? null];
            if (!$token->is([\T_STRING, \T_NAME_FULLY_QUALIFIED]) || $after?->text !== '(') {
                continue;
            }
            $name = \ltrim($token->text, '\\');
            $reference = $before?->text === '&' && ($kept[$at - 2] ?? null)?->is(\T_FUNCTION);
            if ($reference || $before?->is(\T_FUNCTION)) {
                $defined[\strtolower($name)] = true;
            } elseif (!$before?->is([\T_OBJECT_OPERATOR, \T_NULLSAFE_OBJECT_OPERATOR, \T_DOUBLE_COLON, \T_NEW])) {
                $used[] = $name;
                $token->text = \strtolower($name) === 'assert' ? '\Rewarden\checked' : $token->text;
            }
        }
        return [\substr(\implode('', \array_map(fn ($token) => $token->text, $tokens)), 6), $used, $defined];
    }

    private function ask(array $question): array
    {
        if ($this->trouble !== null && \in_array($this->trouble->kind, ['candidate_lost', 'bad_frame'], true)) {
            throw $this->trouble;
        }
        $this->asked++;
        $lost = "the candidate's process ended while the tests were running";
        try {
            $this->channel->send($question + ['of' => 0, 'id' => $this->asked]);
        } catch (Lost) {
            $this->fail('candidate_lost', $lost);
        } catch (Uncrossable $fault) {
            $this->fail('unsupported', "an argument cannot cross: {$fault->getMessage()}", 'tests');
        }
        $answer = $this->received($lost);
        if (($answer['id'] ?? null) !== $this->asked) {
            $this->fail('bad_frame', 'an answer to another question');
        }
        return $answer;
    }

    private function received(string $lost): array
    {
        try {
            return $this->channel->receive();
        } catch (Lost) {
            $this->fail('candidate_lost', $lost);
        } catch (BadFrame $fault) {
            $this->fail('bad_frame', $fault->getMessage());
        }
    }

    private function rebuilt(array $answer): \Throwable
    {
        $type = self::text($answer, 'type');
        $message = self::text($answer, 'message');
        $known = \in_array($type, KNOWN_ERRORS, true);
        $fault = $known ? new $type($message) : new CandidateException("$type: $message");
        $this->raised[] = $fault;
        return $fault;
    }

    private function fail(string $kind, string $message, string $who = 'candidate'): never
    {
        throw $this->trouble ??= new Fault($kind, $message, $who);
    }

    private static function text(array $answer, string $name): string
    {
        return \is_string($answer[$name] ?? null) ? brief($answer[$name]) : '?';
    }
}

// Runs a file of the program's in a function, and makes its variables global. In the main script's scope, the program
// could not be kept from what comes after it.
function included(string $rewarden_file): void
{
    foreach (\array_keys($GLOBALS) as $rewarden_name) {
        ${$rewarden_name} = &$GLOBALS[$rewarden_name];
    }
    unset($rewarden_name);
    require $rewarden_file;
    unset($rewarden_file);
    foreach (\get_defined_vars() as $rewarden_name => $rewarden_value) {
        $GLOBALS[$rewarden_name] = $rewarden_value;
    }
}

// Runs test code and the program in one process, and reports. The nonce is in variables of this call alone, because
// reflection reaches every property.
function shared(string $nonce): never
{
    $reported = false;
    $report = function (?\Throwable $fault) use ($nonce, &$reported): void {
        if ($reported) {
            return;
        }
        $reported = true;
        $assertion = $fault instanceof \Exception || $fault instanceof \AssertionError;
        write(4, json([
            'done' => true, 'outcome' => $fault === null ? 'passed' : 'failed',
            'kind' => $fault === null ? null : ($assertion ? 'assertion' : 'exception'), 'who' => $fault === null ? null : 'candidate',
            'message' => $fault === null ? '' : brief($fault::class . ': ' . $fault->getMessage()), 'line' => null, 'source' => null,
            'tests' => (object) [], 'calls' => 0, 'provenance' => (object) [], 'nonce' => $nonce,
        ]));
        exit($fault === null ? 0 : 1);
    };
    \register_shutdown_function(fn () => $report(new \Error(\error_get_last()['message'] ?? 'the test code ended the process')));
    $fault = null;
    try {
        included(__DIR__ . '/solution.php');
        $code = Room::here()->install(\file_get_contents(__DIR__ . '/tests_code.php'));
        \file_put_contents(__DIR__ . '/rewarden/tests_code.php', "<?php $code");
        included(__DIR__ . '/rewarden/tests_code.php');
    } catch (\Throwable $fault) {
    }
    $report($fault);
}

// In a function, because the program sees what is global. Attack: read the options again, with the nonce.
(function () {
    $read = \stream_get_contents(\STDIN);
    \fclose(\STDIN);
    $options = \json_decode($read, true);
    if (($options['shared'] ?? false) === true) {
        $nonce = $options['nonce'];
        unset($options['nonce'], $read);
        new Room($options);
        shared($nonce);
    }
    new Room($options);
})();
\register_shutdown_function(fn () => Room::here()->report(new \Error(\error_get_last()['message'] ?? 'the test code ended the process')));
// Here, and not in functions: the variables of the tests are global.
try {
    Room::here()->greet();
    eval(Room::here()->install(\file_get_contents(__DIR__ . '/tests_code.php')));
} catch (\Throwable $fault) {
    Room::here()->report($fault);
}
Room::here()->report(null);
