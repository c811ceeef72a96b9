<?php
// Tagged JSON (docs/tagged-codec.md) for PHP, and frames of it over a descriptor.
declare(strict_types=1);

namespace Rewarden;

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_DIGITS = 100_000;
const MAX_MESSAGE = 2000;

final class Uncrossable extends \Exception
{
}

final class BadFrame extends \Exception
{
}

final class Lost extends \Exception
{
}

// Between two rooms of PHP (`exact`) an array with keys of its own and an object have tags. Otherwise both are
// dictionaries, and an integer that is too large is a float.
final class Codec
{
    public function __construct(private bool $exact)
    {
    }

    public function encode(mixed $value, int $depth = 0): mixed
    {
        if ($value === null || \is_bool($value)) {
            return $value;
        }
        if (\is_int($value)) {
            return ['i' => $value === \PHP_INT_MIN ? '-8000000000000000' : ($value < 0 ? '-' : '') . \dechex(\abs($value))];
        }
        if (\is_float($value)) {
            return ['f' => self::hex($value)];
        }
        if (\is_string($value)) {
            return \preg_match('//u', $value) === 1 ? $value : ['bytes' => \bin2hex($value)];
        }
        if ($depth > MAX_DEPTH) {
            throw new Uncrossable('a nesting that is too deep');
        }
        if (\is_array($value) && \array_is_list($value)) {
            return ['l' => \array_map(fn ($part) => $this->encode($part, $depth + 1), $value)];
        }
        $object = \is_object($value) && $value::class === 'stdClass';
        if (!\is_array($value) && !$object) {
            throw new Uncrossable(\substr(\get_debug_type($value), 0, 100));
        }
        $pairs = [];
        foreach ((array) $value as $key => $part) {
            $pairs[] = [$this->encode($key, $depth + 1), $this->encode($part, $depth + 1)];
        }
        return [$this->exact ? ($object ? 'object' : 'array') : 'd' => $pairs];
    }

    public function decode(mixed $tagged, int $depth = 0): mixed
    {
        if ($tagged === null || \is_bool($tagged) || \is_string($tagged)) {
            return $tagged;
        }
        if (!\is_array($tagged) || \count($tagged) !== 1 || $depth > MAX_DEPTH) {
            throw new BadFrame('not a value');
        }
        $payload = \reset($tagged);
        switch (\key($tagged)) {
            case 'i':
                return $this->integer($payload);
            case 'f':
                return self::unhex($payload);
            case 'l':
            case 't':
            case 's':
            case 'frozenset':
                if (!\is_array($payload) || !\array_is_list($payload)) {
                    throw new BadFrame('not an array');
                }
                return \array_map(fn ($part) => $this->decode($part, $depth + 1), $payload);
            case 'd':
            case 'array':
                return $this->pairs($payload, $depth);
            case 'object':
                return (object) $this->pairs($payload, $depth);
            case 'bytes':
            case 'text':
                if (!\is_string($payload) || \preg_match('/\A(?:[0-9a-f]{2})*\z/', $payload) !== 1) {
                    throw new BadFrame('not bytes');
                }
                return \hex2bin($payload);
            default:
                throw new BadFrame('no such tag');
        }
    }

    private function integer(mixed $payload): int|float
    {
        if (!\is_string($payload) || \strlen($payload) > MAX_DIGITS || \preg_match('/\A-?[0-9a-f]+\z/', $payload) !== 1) {
            throw new BadFrame('not an integer');
        }
        $negative = $payload[0] === '-';
        $digits = \ltrim($payload, '-0');
        if (\strlen($digits) < 16 || (\strlen($digits) === 16 && $digits[0] < '8')) {
            $value = (int) \hexdec($digits === '' ? '0' : $digits);
            return $negative ? -$value : $value;
        }
        if ($payload === '-8000000000000000') {
            return \PHP_INT_MIN;
        }
        if ($this->exact) {
            throw new BadFrame('an integer of more than 64 bits');
        }
        return \hexdec($digits) * ($negative ? -1.0 : 1.0);
    }

    private function pairs(mixed $payload, int $depth): array
    {
        if (!\is_array($payload) || !\array_is_list($payload)) {
            throw new BadFrame('not pairs');
        }
        $made = [];
        foreach ($payload as $pair) {
            if (!\is_array($pair) || !\array_is_list($pair) || \count($pair) !== 2) {
                throw new BadFrame('not a pair');
            }
            $key = $this->decode($pair[0], $depth + 1);
            if (\is_array($key) || \is_object($key)) {
                throw new BadFrame('not a key');
            }
            $key = \is_bool($key) ? ($key ? 'true' : 'false') : $key;
            $made[\is_int($key) ? $key : (string) $key] = $this->decode($pair[1], $depth + 1);
        }
        return $made;
    }

    private static function hex(float $value): string
    {
        if (\is_nan($value)) {
            return 'nan';
        }
        if (\is_infinite($value)) {
            return $value > 0 ? 'inf' : '-inf';
        }
        $bits = \unpack('J', \pack('E', $value))[1];
        $exponent = ($bits >> 52) & 0x7ff;
        $mantissa = \sprintf('%013x', $bits & 0xfffffffffffff);
        $power = $exponent === 0 ? ($value == 0 ? 0 : -1022) : $exponent - 1023;
        return \sprintf('%s0x%d.%sp%+d', $bits < 0 ? '-' : '', $exponent === 0 ? 0 : 1, $mantissa, $power);
    }

    private static function unhex(mixed $payload): float
    {
        $special = ['nan' => \NAN, 'inf' => \INF, '-inf' => -\INF];
        if (!\is_string($payload)) {
            throw new BadFrame('not a float');
        }
        if (isset($special[$payload])) {
            return $special[$payload];
        }
        if (\preg_match('/\A(-?)0x([01])(?:\.([0-9a-f]{1,13}))?p([+-]\d{1,4})\z/', $payload, $found) !== 1) {
            throw new BadFrame('not a float');
        }
        $mantissa = \hexdec($found[2] . \str_pad($found[3], 13, '0'));
        // Two steps: the first is exact, and the second loses nothing that a float has.
        $value = $mantissa * 2.0 ** -52 * 2.0 ** (int) $found[4];
        if (!\is_finite($value)) {
            throw new BadFrame('not a float');
        }
        return $found[1] === '-' ? -$value : $value;
    }
}

function json(mixed $message): string
{
    return \json_encode($message, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES, 1024);
}

// A text that JSON can hold, and not too long.
function brief(string $text, int $most = MAX_MESSAGE): string
{
    $part = \substr($text, 0, $most);
    return \preg_match('//u', $part) === 1 ? $part : \preg_replace('/[^\x20-\x7e\n]/', '?', $part);
}

function failure(\Throwable $fault): array
{
    return [
        'type' => brief($fault::class, 100),
        'message' => brief($fault->getMessage()),
        'traceback' => brief($fault->getTraceAsString()),
    ];
}

// Writes a text to a descriptor, and all of it.
function write(int $descriptor, string $text): void
{
    $stream = \fopen("php://fd/$descriptor", 'wb');
    for ($done = 0; $done < \strlen($text); $done += $count) {
        $count = \fwrite($stream, \substr($text, $done));
        if ($count === false || $count === 0) {
            return;
        }
    }
}

// Frames over a stream socket: four bytes of length, big-endian, then a JSON object.
final class Channel
{
    /** @var resource */
    private $stream;

    public function __construct(int $descriptor)
    {
        $this->stream = \fopen("php://fd/$descriptor", 'r+b');
        \stream_set_read_buffer($this->stream, 0);
        \stream_set_write_buffer($this->stream, 0);
    }

    public function send(array $message): void
    {
        $body = json($message);
        if (\strlen($body) > MAX_BYTES) {
            throw new Uncrossable('too many bytes');
        }
        $frame = \pack('N', \strlen($body)) . $body;
        for ($done = 0; $done < \strlen($frame); $done += $count) {
            $count = @\fwrite($this->stream, $done === 0 ? $frame : \substr($frame, $done));
            if ($count === false || $count === 0) {
                throw new Lost('the other room is gone');
            }
        }
    }

    public function receive(): array
    {
        $size = \unpack('N', $this->take(4))[1];
        if ($size > MAX_BYTES) {
            throw new BadFrame('a frame longer than the limit');
        }
        $body = $this->take($size);
        try {
            $message = \json_decode($body, true, 4 * MAX_DEPTH, \JSON_THROW_ON_ERROR | \JSON_BIGINT_AS_STRING);
        } catch (\JsonException $fault) {
            throw new BadFrame('not JSON');
        }
        if (!\is_array($message)) {
            throw new BadFrame('not an object');
        }
        return $message;
    }

    private function take(int $size): string
    {
        $data = '';
        while (\strlen($data) < $size) {
            $part = @\fread($this->stream, $size - \strlen($data));
            if ($part === false || $part === '') {
                throw new Lost('the other room is gone');
            }
            $data .= $part;
        }
        return $data;
    }
}
