package Bridge;

import java.lang.reflect.*;
import java.util.*;

/** The candidate's side, for the modes `call` and `serve`. */
final class Candidate {
    /** Methods that a target names, and one of their calls. */
    private final List<Method> methods = new ArrayList<>();
    private final List<String> before = new ArrayList<>();
    private Method called;
    private Object[] held;

    /** @param target `f`, of the first class that has it, or `Class.f` */
    private Candidate(String target, int count) {
        int dot = target.lastIndexOf('.');
        String name = target.substring(dot + 1);
        for (Class<?> type : Classes.all()) {
            if (dot >= 0 && !type.getSimpleName().equals(target.substring(0, dot))) continue;
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isSynthetic() && method.getParameterCount() == count) methods.add(method);
            }
            if (!methods.isEmpty()) return;
        }
    }

    /** Returns the call's value as tagged JSON. */
    private String value(List<?> args, List<?> init, boolean room) throws Throwable {
        Values.Bad fault = null;
        for (Method method : methods) {
            try {
                held = new Object[args.size()];
                for (int at = 0; at < held.length; at++) held[at] = Values.decode(args.get(at), method.getGenericParameterTypes()[at]);
                called = method;
                break;
            } catch (Values.Bad other) {
                fault = other;
            }
        }
        if (called == null) throw fault;
        called.setAccessible(true);
        if (room) before.addAll(state());
        try {
            Object object = Modifier.isStatic(called.getModifiers()) ? null : made(called.getDeclaringClass(), init);
            return Values.encoded(called.invoke(object, held), called.getGenericReturnType(), room);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static Object made(Class<?> type, List<?> init) throws ReflectiveOperationException {
        for (Constructor<?> maker : type.getDeclaredConstructors()) {
            if (maker.getParameterCount() != init.size()) continue;
            Object[] given = new Object[init.size()];
            for (int at = 0; at < given.length; at++) given[at] = Values.decode(init.get(at), maker.getGenericParameterTypes()[at]);
            maker.setAccessible(true);
            return maker.newInstance(given);
        }
        throw new Values.Bad("no constructor of " + type.getName() + " has " + init.size() + " parameters");
    }

    /** The arguments that a call can change, as tagged JSON; null for others. */
    private List<String> state() {
        List<String> found = new ArrayList<>();
        for (int at = 0; at < held.length; at++) {
            Object value = held[at];
            boolean can = value instanceof Collection || value instanceof Map || value != null && value.getClass().isArray();
            found.add(can ? Values.encoded(value, called.getGenericParameterTypes()[at], true) : null);
        }
        return found;
    }

    private String after() {
        List<String> now = state();
        StringBuilder out = new StringBuilder();
        for (int at = 0; at < now.size(); at++) {
            if (Objects.equals(now.get(at), before.get(at))) continue;
            out.append(out.length() > 0 ? "," : "").append('"').append(at).append("\":").append(now.get(at));
        }
        return out.toString();
    }

    private static String failure(String type, String message, Throwable fault) {
        String said = String.valueOf(fault.getMessage());
        return "\"" + type + "\":" + Values.quoted(fault.getClass().getName()) + ",\"" + message + "\":"
            + quoted(said.substring(0, Math.min(said.length(), 2000)));
    }

    private static String quoted(String text) {
        String found = Values.quoted(text);
        return found.startsWith("\"") ? found : "\"\"";
    }

    static void call() {
        String reply;
        boolean good = false;
        try {
            Map<?, ?> request = Channel.asked();
            String target = Values.string(Values.at(request, "target"));
            List<?> args = Values.list(Values.at(request, "args"));
            Candidate found = new Candidate(target, args.size());
            List<?> init = request.containsKey("init") ? Values.list(request.get("init")) : List.of();
            if (found.methods.isEmpty()) {
                reply = "{\"missing\":" + Values.quoted(target) + "}";
            } else {
                reply = "{\"value\":" + found.value(args, init, false) + "}";
                good = true;
            }
        } catch (Values.Uncrossable fault) {
            reply = "{\"uncrossable\":" + quoted(fault.getMessage()) + "}";
        } catch (Throwable fault) {
            reply = "{" + failure("error", "message", fault) + "}";
        }
        Channel.end(reply, good);
    }

    private static String answer(Map<?, ?> question) {
        List<?> args = question.containsKey("args") ? Values.list(question.get("args")) : List.of();
        Candidate found = new Candidate(Values.string(Values.at(question, "name")), args.size());
        if (found.methods.isEmpty()) return "\"is\":\"absent\"";
        if (!Values.string(Values.at(question, "op")).equals("call")) return "\"is\":\"function\"";
        try {
            String value = found.value(args, List.of(), true);
            return "\"is\":\"value\",\"value\":" + value + ",\"after\":{" + found.after() + "}";
        } catch (Values.Uncrossable fault) {
            return "\"is\":\"uncrossable\",\"type\":" + quoted(fault.getMessage());
        } catch (Throwable fault) {
            return "\"is\":\"raised\"," + failure("type", "message", fault);
        }
    }

    static void serve() {
        try {
            Channel channel = new Channel();
            channel.send("{\"is\":\"loaded\"}");
            for (;;) {
                Map<?, ?> question = channel.receive();
                if (!(Values.at(question, "id") instanceof Values.Number id)) throw new Values.Bad("not a number");
                String said = "{\"id\":" + id.text() + ",";
                try {
                    channel.send(said + answer(question) + "}");
                } catch (Values.Uncrossable fault) {
                    channel.send(said + "\"is\":\"uncrossable\",\"type\":\"too many bytes\"}");
                }
            }
        } catch (Channel.Lost fault) {
            Runtime.getRuntime().halt(0);
        } catch (Throwable fault) {
            Runtime.getRuntime().halt(1);
        }
    }
}
