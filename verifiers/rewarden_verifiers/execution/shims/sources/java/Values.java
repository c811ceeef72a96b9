package Bridge;

import java.lang.reflect.*;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** Tagged JSON (docs/tagged-codec.md): values are read as the declared types, and written by their classes. */
final class Values {
    static final int MOST_BYTES = 8 << 20, MOST_DEPTH = 100, MOST_NODES = 100_000;

    static final class Bad extends RuntimeException {
        Bad(String message) { super(message); }
    }

    static final class Uncrossable extends RuntimeException {
        Uncrossable(String message) { super(message); }
    }

    /** The classes of values that a receiver cannot tell from one without their names: of objects declared as Object. */
    private static final Map<Class<?>, String> SMALL =
        Map.of(Long.class, "long", Short.class, "short", Byte.class, "byte", Float.class, "float", Character.class, "char");
    private static final Map<String, Class<?>> BY_NAME =
        Map.of("long", long.class, "short", short.class, "byte", byte.class, "float", float.class, "char", char.class);

    // --- JSON: null, Boolean, String, Number (as its text), List and Map

    record Number(String text) {}

    static final class Reader {
        private final String text;
        private int at;

        Reader(byte[] data) { text = new String(data, StandardCharsets.UTF_8); }

        Map<?, ?> object() {
            Object found = value(0);
            if (skip() >= 0 || !(found instanceof Map<?, ?> map)) throw new Bad("not an object");
            return map;
        }

        private int skip() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : -1;
        }

        private boolean take(char wanted) {
            if (skip() != wanted) return false;
            at++;
            return true;
        }

        private void need(char wanted) {
            if (!take(wanted)) throw new Bad("not JSON");
        }

        private Object value(int depth) {
            if (depth > 4 * MOST_DEPTH) throw new Bad("nested too deep");
            if (take('{')) {
                Map<String, Object> made = new HashMap<>();
                if (take('}')) return made;
                do {
                    skip();
                    String name = string();
                    need(':');
                    made.put(name, value(depth + 1));
                } while (take(','));
                need('}');
                return made;
            }
            if (take('[')) {
                List<Object> made = new ArrayList<>();
                if (take(']')) return made;
                do made.add(value(depth + 1)); while (take(','));
                need(']');
                return made;
            }
            if (skip() == '"') return string();
            int start = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            if (word.equals("null")) return null;
            if (word.equals("true") || word.equals("false")) return word.equals("true");
            if (word.isEmpty() || !word.matches("[-+.0-9eE]+")) throw new Bad("not JSON");
            return new Number(word);
        }

        private String string() {
            need('"');
            StringBuilder made = new StringBuilder();
            while (at < text.length()) {
                char next = text.charAt(at++);
                if (next == '"') return made.toString();
                if (next == '\\') {
                    int place = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
                    if (place < 0) break;
                    next = place < 8 ? "\"\\/\b\f\n\r\t".charAt(place) : (char) hex(4);
                }
                made.append(next);
            }
            throw new Bad("not JSON");
        }

        private int hex(int digits) {
            int point = 0;
            for (; digits > 0; digits--) {
                int digit = at < text.length() ? Character.digit(text.charAt(at++), 16) : -1;
                if (digit < 0) throw new Bad("not JSON");
                point = point * 16 + digit;
            }
            return point;
        }
    }

    static Object at(Map<?, ?> object, String name) {
        if (!object.containsKey(name)) throw new Bad("a field is missing");
        return object.get(name);
    }

    static String string(Object json) {
        if (json instanceof String text) return text;
        throw new Bad("not a text");
    }

    static List<?> list(Object json) {
        if (json instanceof List<?> items) return items;
        throw new Bad("not an array");
    }

    static void quote(StringBuilder out, String text) {
        if (!StandardCharsets.UTF_16.newEncoder().canEncode(text)) {  // half of a pair
            out.append("{\"text\":\"");
            text.codePoints().forEach(point -> {
                boolean half = point >= 0xd800 && point < 0xe000;
                byte[] bytes = half
                    ? new byte[] {(byte) 0xed, (byte) (0x80 | point >> 6 & 63), (byte) (0x80 | point & 63)}
                    : Character.toString(point).getBytes(StandardCharsets.UTF_8);
                out.append(HexFormat.of().formatHex(bytes));
            });
            out.append("\"}");
            return;
        }
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char next = text.charAt(at);
            if (next == '"' || next == '\\') out.append('\\').append(next);
            else if (next >= 0x20 && next < 0x7f) out.append(next);
            else out.append(String.format("\\u%04x", (int) next));
        }
        out.append('"');
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder();
        quote(out, text);
        return out.toString();
    }

    // --- types

    static Class<?> raw(Type type) {
        if (type instanceof Class<?> known) return known;
        if (type instanceof ParameterizedType known) return raw(known.getRawType());
        if (type instanceof WildcardType known) return raw(known.getUpperBounds()[0]);
        if (type instanceof GenericArrayType known) return raw(known.getGenericComponentType()).arrayType();
        return Object.class;
    }

    private static Type part(Type type, int at) {
        if (type instanceof WildcardType known) return part(known.getUpperBounds()[0], at);
        Type[] parts = type instanceof ParameterizedType known ? known.getActualTypeArguments() : new Type[0];
        return at < parts.length ? parts[at] : Object.class;
    }

    private static Type component(Type type) {
        return type instanceof GenericArrayType known ? known.getGenericComponentType() : raw(type).componentType();
    }

    private static boolean tuple(Class<?> type) {
        return type.getPackageName().equals("org.javatuples");
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field found = type.getDeclaredField(name);
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException | RuntimeException fault) {
            return null;
        }
    }

    private static boolean linked(Class<?> type) {
        Field next = field(type, "next");
        return next != null && next.getType() == type && field(type, "val") != null;
    }

    private static boolean tree(Class<?> type) {
        Field left = field(type, "left");
        return left != null && left.getType() == type && field(type, "right") != null && field(type, "val") != null;
    }

    // --- writing. `room`: whether the receiver is a room of this language too

    static String encoded(Object value, Type type, boolean room) {
        StringBuilder out = new StringBuilder();
        encode(out, value, type, 0, room);
        if (out.length() > MOST_BYTES) throw new Uncrossable("too many bytes");
        return out.toString();
    }

    private static void encode(StringBuilder out, Object value, Type type, int depth, boolean room) {
        if (depth > MOST_DEPTH) throw new Uncrossable("nested too deep");
        if (out.length() > MOST_BYTES) throw new Uncrossable("too many bytes");
        if (value == null || value instanceof Boolean) {
            out.append(value);
            return;
        }
        Class<?> own = value.getClass();
        String name = room && !raw(type).isPrimitive() && raw(type) != own ? SMALL.get(own) : null;
        if (name != null) out.append("{\"as\":[\"").append(name).append("\",");
        if (value instanceof String text) {
            quote(out, text);
        } else if (value instanceof Character) {
            quote(out, value.toString());
        } else if (value instanceof Float || value instanceof Double) {
            // The shortest decimal that names this float: 0.1f is 0.1, and not 0.10000000149.
            double real = value instanceof Double known ? known : Double.parseDouble(value.toString());
            String word = Double.isNaN(real) ? "nan" : Double.isInfinite(real) ? (real > 0 ? "inf" : "-inf")
                : Double.toHexString(real).replaceFirst("p(\\d)", "p+$1");
            out.append("{\"f\":\"").append(word).append("\"}");
        } else if (value instanceof BigInteger whole) {
            out.append("{\"i\":\"").append(whole.toString(16)).append("\"}");
        } else if (value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
            out.append("{\"i\":\"").append(Long.toString(((java.lang.Number) value).longValue(), 16)).append("\"}");
        } else if (value instanceof Optional<?> held) {
            encode(out, held.orElse(null), part(type, 0), depth + 1, room);
        } else if (own.isArray()) {
            List<Object> items = new ArrayList<>();
            for (int at = 0; at < Array.getLength(value); at++) items.add(Array.get(value, at));
            all(out, "l", items, raw(type).isArray() ? component(type) : own.componentType(), depth, room);
        } else if (value instanceof Map<?, ?> map) {
            String before = "{\"d\":[[";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                encode(out.append(before), entry.getKey(), part(type, 0), depth + 1, room);
                encode(out.append(','), entry.getValue(), part(type, 1), depth + 1, room);
                before = "],[";
            }
            out.append(map.isEmpty() ? "{\"d\":[]}" : "]]}");
        } else if (value instanceof Collection<?> items) {
            all(out, value instanceof Set ? "s" : "l", items, part(type, 0), depth, room);
        } else if (value instanceof Map.Entry<?, ?> entry) {
            several(out, Arrays.asList(entry.getKey(), entry.getValue()), type, depth, room);
        } else if (tuple(own) && value instanceof Iterable<?> items) {
            several(out, items, type, depth, room);
        } else if (linked(own) || tree(own)) {
            all(out, "l", linked(own) ? chain(value) : levels(value), field(own, "val").getGenericType(), depth, room);
        } else {
            throw new Uncrossable(own.getName());
        }
        if (name != null) out.append("]}");
    }

    private static void all(StringBuilder out, String tag, Iterable<?> items, Type type, int depth, boolean room) {
        out.append("{\"").append(tag).append("\":[");
        String before = "";
        for (Object item : items) {
            encode(out.append(before), item, type, depth + 1, room);
            before = ",";
        }
        out.append("]}");
    }

    private static void several(StringBuilder out, Iterable<?> items, Type type, int depth, boolean room) {
        out.append("{\"t\":[");
        int at = 0;
        for (Object item : items) encode(out.append(at > 0 ? "," : ""), item, part(type, at++), depth + 1, room);
        out.append("]}");
    }

    private static Object got(Object node, String name) {
        try {
            return field(node.getClass(), name).get(node);
        } catch (IllegalAccessException fault) {
            throw new Uncrossable(node.getClass().getName());
        }
    }

    private static List<Object> chain(Object node) {
        List<Object> values = new ArrayList<>();
        for (; node != null; node = got(node, "next")) {
            if (values.size() >= MOST_NODES) throw new Uncrossable("a list without an end");
            values.add(got(node, "val"));
        }
        return values;
    }

    private static List<Object> levels(Object root) {
        List<Object> values = new ArrayList<>();
        Deque<Optional<Object>> waiting = new ArrayDeque<>(List.of(Optional.of(root)));
        while (!waiting.isEmpty()) {
            Object node = waiting.poll().orElse(null);
            if (values.size() >= MOST_NODES) throw new Uncrossable("a tree without an end");
            values.add(node == null ? null : got(node, "val"));
            if (node == null) continue;
            waiting.add(Optional.ofNullable(got(node, "left")));
            waiting.add(Optional.ofNullable(got(node, "right")));
        }
        while (values.get(values.size() - 1) == null) values.remove(values.size() - 1);
        return values;
    }

    // --- reading

    static Object decode(Object json, Type type) {
        Class<?> wanted = raw(type);
        if (wanted == Optional.class) return json == null ? Optional.empty() : Optional.of(decode(json, part(type, 0)));
        if (json == null) {
            if (wanted.isPrimitive() && wanted != void.class) throw new Bad("no value");
            return null;
        }
        if (json instanceof Boolean) {
            if (wanted == boolean.class || wanted.isAssignableFrom(Boolean.class)) return json;
            throw new Bad("not a truth value");
        }
        if (json instanceof String text) return text(text, wanted);
        if (!(json instanceof Map<?, ?> map) || map.size() != 1) throw new Bad("not a value");
        String tag = string(map.keySet().iterator().next());
        Object payload = map.get(tag);
        switch (tag) {
            case "as":
                List<?> both = list(payload);
                if (both.size() != 2 || !BY_NAME.containsKey(string(both.get(0)))) throw new Bad("not a value");
                return checked(decode(both.get(1), BY_NAME.get(both.get(0))), wanted);
            case "i":
                return whole(string(payload), wanted);
            case "f":
                return real(string(payload), wanted);
            case "text":
                return text(surrogates(string(payload)), wanted);
            case "d":
                return map(list(payload), type);
            case "l", "t", "s", "frozenset":
                return items(list(payload), type, tag.contains("s"));
            default:
                throw new Bad("an unknown tag");
        }
    }

    private static Object checked(Object value, Class<?> wanted) {
        if (!wanted.isInstance(value)) throw new Bad("a value of another type");
        return value;
    }

    private static Object text(String text, Class<?> wanted) {
        if (wanted == char.class || wanted == Character.class) {
            if (text.length() != 1) throw new Bad("not a character");
            return text.charAt(0);
        }
        return checked(text, wanted);
    }

    private static String surrogates(String hex) {
        StringBuilder made = new StringBuilder();
        try {
            byte[] bytes = HexFormat.of().parseHex(hex);
            for (int at = 0; at < bytes.length;) {
                int first = bytes[at] & 0xff, size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
                int point = size == 1 ? first : first & 0xff >> size + 1;
                for (int more = 1; more < size; more++) point = point << 6 | bytes[at + more] & 63;
                made.appendCodePoint(point);
                at += size;
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException fault) {
            throw new Bad("not a text");
        }
        return made.toString();
    }

    private static Object whole(String digits, Class<?> wanted) {
        if (digits.length() > 100_000 || !digits.matches("-?[0-9a-f]++")) throw new Bad("not an integer");
        BigInteger found = new BigInteger(digits, 16);
        if (wanted == double.class || wanted == Double.class) return found.doubleValue();
        if (wanted == float.class || wanted == Float.class) return found.floatValue();
        return whole(found, wanted);
    }

    private static Object whole(BigInteger found, Class<?> wanted) {
        int bits = found.bitLength();
        if (bits < 8 && (wanted == byte.class || wanted == Byte.class)) return found.byteValue();
        if (bits < 16 && (wanted == short.class || wanted == Short.class)) return found.shortValue();
        if (bits < 64 && (wanted == long.class || wanted == Long.class)) return found.longValue();
        if (bits < 32 && (wanted == int.class || wanted.isAssignableFrom(Integer.class))) return found.intValue();
        if (bits < 64 && wanted.isAssignableFrom(Long.class)) return found.longValue();
        return checked(found, wanted);
    }

    private static Object real(String word, Class<?> wanted) {
        double found;
        try {
            found = word.equals("nan") ? Double.NaN : word.endsWith("inf")
                ? (word.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY)
                : Double.parseDouble(word);
        } catch (NumberFormatException fault) {
            throw new Bad("not a number");
        }
        if (wanted == float.class || wanted == Float.class) return (float) found;
        if (wanted == double.class || wanted.isAssignableFrom(Double.class)) return found;
        if (found == Math.rint(found) && Math.abs(found) < 9e15) return whole(BigInteger.valueOf((long) found), wanted);
        throw new Bad("not an integer");
    }

    private static Object key(Object json, Type type) {
        // JSON has texts as keys only.
        boolean number = java.lang.Number.class.isAssignableFrom(raw(type)) && raw(type) != java.lang.Number.class;
        if (!number || !(json instanceof String text)) return decode(json, type);
        if (text.length() > 20 || !text.matches("-?[0-9]+")) throw new Bad("not a key");
        return whole(new BigInteger(text).toString(16), raw(type));
    }

    @SuppressWarnings("unchecked")
    private static Object map(List<?> pairs, Type type) {
        Class<?> wanted = raw(type);
        Map<Object, Object> made = wanted == NavigableMap.class || wanted == SortedMap.class ? new TreeMap<>()
            : wanted.isAssignableFrom(HashMap.class) ? new HashMap<>() : (Map<Object, Object>) empty(wanted, Map.class);
        for (Object each : pairs) {
            if (list(each).size() != 2) throw new Bad("not a pair");
            made.put(key(list(each).get(0), part(type, 0)), decode(list(each).get(1), part(type, 1)));
        }
        return made;
    }

    @SuppressWarnings("unchecked")
    private static Object items(List<?> items, Type type, boolean set) {
        Class<?> wanted = raw(type);
        if (wanted.isArray()) {
            Object made = Array.newInstance(wanted.componentType(), items.size());
            for (int at = 0; at < items.size(); at++) Array.set(made, at, decode(items.get(at), component(type)));
            return made;
        }
        if (tuple(wanted) || wanted == Map.Entry.class) return several(items, type);
        if (linked(wanted)) return linkedOf(items, wanted);
        if (tree(wanted)) return treeOf(items, wanted);
        Collection<Object> made = set && wanted.isAssignableFrom(HashSet.class) ? new HashSet<>()
            : wanted.isAssignableFrom(ArrayList.class) ? new ArrayList<>()
            : wanted.isAssignableFrom(HashSet.class) ? new HashSet<>()
            : wanted.isAssignableFrom(LinkedList.class) ? new LinkedList<>()
            : wanted == NavigableSet.class || wanted == SortedSet.class ? new TreeSet<>()
            : (Collection<Object>) empty(wanted, Collection.class);
        for (Object item : items) made.add(decode(item, part(type, 0)));
        return made;
    }

    private static Object several(List<?> items, Type type) {
        Object[] made = new Object[items.size()];
        for (int at = 0; at < made.length; at++) made[at] = decode(items.get(at), part(type, at));
        if (raw(type) == Map.Entry.class) {
            if (made.length != 2) throw new Bad("not a pair");
            return new AbstractMap.SimpleEntry<>(made[0], made[1]);
        }
        try {
            Constructor<?> maker = raw(type).getDeclaredConstructors()[0];
            if (maker.getParameterCount() != made.length) throw new Bad("a tuple of another size");
            return maker.newInstance(made);
        } catch (ReflectiveOperationException | IndexOutOfBoundsException fault) {
            throw new Bad("not a tuple");
        }
    }

    private static Object empty(Class<?> wanted, Class<?> kind) {
        if (!kind.isAssignableFrom(wanted) || !wanted.getPackageName().startsWith("java.util")) {
            throw new Bad("a value of another type");
        }
        return made(wanted);
    }

    private static Object made(Class<?> wanted) {
        try {
            Constructor<?> maker = wanted.getDeclaredConstructors()[0];
            for (Constructor<?> other : wanted.getDeclaredConstructors()) {
                if (other.getParameterCount() < maker.getParameterCount()) maker = other;
            }
            if (!wanted.getPackageName().startsWith("java.")) maker.setAccessible(true);
            Object[] given = new Object[maker.getParameterCount()];
            for (int at = 0; at < given.length; at++) given[at] = whole(BigInteger.ZERO, maker.getParameterTypes()[at]);
            return maker.newInstance(given);
        } catch (ReflectiveOperationException | IndexOutOfBoundsException fault) {
            throw new Bad("an object that cannot be made");
        }
    }

    private static Object node(Object value, Class<?> type) throws IllegalAccessException {
        Object made = made(type);
        field(type, "val").set(made, decode(value, field(type, "val").getGenericType()));
        return made;
    }

    private static Object linkedOf(List<?> items, Class<?> type) {
        try {
            Object first = null;
            for (int at = items.size() - 1; at >= 0; at--) {
                Object made = node(items.get(at), type);
                field(type, "next").set(made, first);
                first = made;
            }
            return first;
        } catch (IllegalAccessException fault) {
            throw new Bad("an object that cannot be made");
        }
    }

    /** A tree level by level, with null for a missing child. */
    private static Object treeOf(List<?> items, Class<?> type) {
        try {
            Object root = null;
            Deque<Object> waiting = new ArrayDeque<>();
            for (int at = 0; at < items.size(); at++) {
                Object made = items.get(at) == null ? null : node(items.get(at), type);
                if (at == 0) root = made;
                else if (waiting.isEmpty()) throw new Bad("a node without a parent");
                else field(type, at % 2 == 1 ? "left" : "right").set(at % 2 == 1 ? waiting.peek() : waiting.poll(), made);
                if (made != null) waiting.add(made);
            }
            return root;
        } catch (IllegalAccessException fault) {
            throw new Bad("an object that cannot be made");
        }
    }
}
