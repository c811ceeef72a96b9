package Bridge;

import java.lang.reflect.*;
import java.util.*;

/** The tests' room: a proxy asks the other room for each call, and the report goes to descriptor 4. */
public final class Room {
    public static final class CandidateError extends RuntimeException {
        CandidateError(String message) { super(message); }
    }

    private static final List<Class<? extends RuntimeException>> KNOWN = List.of(
        ArithmeticException.class, ArrayIndexOutOfBoundsException.class, ArrayStoreException.class,
        ClassCastException.class, ConcurrentModificationException.class, EmptyStackException.class,
        IllegalArgumentException.class, IllegalStateException.class, IndexOutOfBoundsException.class,
        InputMismatchException.class, NegativeArraySizeException.class, NoSuchElementException.class,
        NullPointerException.class, NumberFormatException.class, StringIndexOutOfBoundsException.class,
        UnsupportedOperationException.class);

    private static String nonce = "";
    private static boolean writesBack = true;
    private static Channel channel;
    private static long uses;
    private static final List<Long> changed = new ArrayList<>();

    /** Runs the test code's `main`. */
    static void run() {
        Map<?, ?> options = Channel.asked();
        nonce = Values.string(Values.at(options, "nonce"));
        writesBack = !Boolean.FALSE.equals(options.get("writes_back"));
        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(true);
        greet();
        try {
            Method main = null;
            for (Class<?> type : Classes.all()) {
                for (Method each : type.getDeclaredMethods()) {
                    boolean fits = each.getName().equals("main") && Arrays.equals(each.getParameterTypes(), new Class<?>[] {String[].class});
                    if (main == null && fits) main = each;
                }
            }
            if (main == null) write("error", "test_code", "tests", "the test code has no main");
            main.setAccessible(true);
            main.invoke(null, (Object) new String[0]);
        } catch (InvocationTargetException thrown) {
            Throwable fault = thrown.getCause();
            String kind = fault instanceof AssertionError ? "assertion" : "exception";
            if (uses == 0) write("error", "test_code", "tests", fault.toString());
            write("failed", kind, "candidate", fault + Arrays.stream(fault.getStackTrace()).limit(1).map(at -> " at " + at).reduce("", String::concat));
        } catch (IllegalAccessException fault) {
            write("error", "test_code", "tests", fault.toString());
        }
        if (uses == 0) write("error", "test_code", "tests", "the test code never used the candidate");
        write("passed", null, null, "");
    }

    private static void greet() {
        try {
            channel = new Channel();
            if (!"loaded".equals(channel.receive().get("is"))) fail("bad_frame", "the first frame is no greeting");
        } catch (Channel.Lost fault) {
            fail("candidate_lost", "the candidate's process ended while it was loading");
        } catch (Values.Bad fault) {
            fail("bad_frame", fault.getMessage());
        }
    }

    private static void write(String outcome, String kind, String who, String message) {
        StringBuilder out = new StringBuilder("{\"done\":true,\"outcome\":\"" + outcome + "\"");
        out.append(",\"kind\":").append(kind == null ? "null" : Values.quoted(kind));
        out.append(",\"who\":").append(who == null ? "null" : Values.quoted(who));
        out.append(",\"message\":").append(Values.quoted(message.substring(0, Math.min(message.length(), 2000))));
        out.append(",\"nonce\":").append(Values.quoted(nonce)).append(",\"tests\":{},\"calls\":").append(uses);
        out.append(",\"provenance\":{");
        if (!changed.isEmpty()) out.append("\"argument_mutated\":").append(changed.subList(0, Math.min(changed.size(), 1000)));
        Channel.end(out + "}}", outcome.equals("passed"));
    }

    /** The candidate's fault; the process ends here, so that no `catch` of a test can turn it into a pass. */
    private static void fail(String kind, String message) {
        write("failed", kind, "candidate", message);
    }

    /** Returns the other room's answer. The arguments become what the candidate made of them. */
    @SuppressWarnings("unchecked")
    public static synchronized <R> R ask(Class<?> of, String name, String method, Object[] args) {
        long number = ++uses;
        String type = "", message = "";
        try {
            Method declared = Arrays.stream(of.getDeclaredMethods())
                .filter(each -> each.getName().equals(method) && each.getParameterCount() == args.length).findFirst().orElseThrow();
            Type[] types = declared.getGenericParameterTypes();
            StringBuilder question = new StringBuilder("{\"op\":\"call\",\"of\":0,\"id\":" + number + ",\"name\":" + Values.quoted(name) + ",\"args\":[");
            for (int at = 0; at < args.length; at++) question.append(at > 0 ? "," : "").append(Values.encoded(args[at], types[at], true));
            channel.send(question + "],\"kwargs\":{},\"capture\":false}");
            Map<?, ?> answer = channel.receive();
            if (!new Values.Number(Long.toString(number)).equals(Values.at(answer, "id"))) throw new Values.Bad("an answer to another question");
            String kind = Values.string(Values.at(answer, "is"));
            if (kind.equals("value")) {
                Object value = Values.decode(Values.at(answer, "value"), declared.getGenericReturnType());
                if (answer.get("after") instanceof Map<?, ?> after && !after.isEmpty()) {
                    changed.add(number);
                    for (int at = 0; writesBack && at < args.length; at++) {
                        if (after.containsKey(Integer.toString(at))) replace(args[at], Values.decode(after.get(Integer.toString(at)), types[at]));
                    }
                }
                return (R) value;
            }
            if (kind.equals("uncrossable")) {
                String what = Values.string(Values.at(answer, "type"));
                fail("uncrossable_value", "a value cannot cross: " + what.substring(0, Math.min(what.length(), 100)));
            }
            if (!kind.equals("raised")) throw new Values.Bad("no such answer");
            type = Values.string(Values.at(answer, "type"));
            message = Values.string(Values.at(answer, "message"));
        } catch (Channel.Lost fault) {
            fail("candidate_lost", "the candidate's process ended while the tests were running");
        } catch (Values.Bad fault) {
            fail("bad_frame", fault.getMessage());
        } catch (Values.Uncrossable fault) {
            write("error", "unsupported", "tests", "an argument cannot cross: " + fault.getMessage());
        } catch (RuntimeException | Error fault) {
            fail("bad_frame", fault.toString());
        }
        throw raised(type, message);
    }

    private static RuntimeException raised(String type, String message) {
        for (Class<? extends RuntimeException> known : KNOWN) {
            try {
                if (!known.getName().equals(type)) continue;
                return known == EmptyStackException.class ? new EmptyStackException() : known.getConstructor(String.class).newInstance(message);
            } catch (ReflectiveOperationException fault) {
                break;
            }
        }
        return new CandidateError(type + ": " + message);
    }

    @SuppressWarnings("unchecked")
    private static void replace(Object old, Object now) {
        if (old == null || now == null) throw new Values.Bad("an argument of another kind");
        try {
            if (old.getClass().isArray()) {
                if (Array.getLength(old) != Array.getLength(now)) throw new Values.Bad("an array of another size");
                System.arraycopy(now, 0, old, 0, Array.getLength(old));
            } else if (old instanceof Map<?, ?> && now instanceof Map<?, ?> map) {
                ((Map<Object, Object>) old).clear();
                ((Map<Object, Object>) old).putAll(map);
            } else if (old instanceof List<?> list && now instanceof List<?> items && list.size() == items.size()) {
                for (int at = 0; at < items.size(); at++) ((List<Object>) old).set(at, items.get(at));
            } else if (old instanceof Collection<?> && now instanceof Collection<?> items) {
                ((Collection<Object>) old).clear();
                ((Collection<Object>) old).addAll(items);
            }
        } catch (UnsupportedOperationException fault) {
            // The tests' list cannot change, but the candidate's copy of it could.
        }
    }
}
