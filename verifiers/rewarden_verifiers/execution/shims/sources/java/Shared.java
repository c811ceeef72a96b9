package Bridge;

import java.lang.reflect.*;
import java.util.*;

/** Runs test code and the candidate in one program, and reports. The nonce is in variables of one call alone, because
 * reflection reaches every field and every method. */
final class Shared {
    static void run(String name) {
        String nonce = Values.string(Values.at(Channel.asked(), "nonce"));
        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(true);
        String kind = "tampered", message = "";
        try {
            List<Method> found = new ArrayList<>();
            for (Class<?> type : Classes.all()) {
                for (Method each : type.getDeclaredMethods()) if (each.getName().equals(name)) found.add(each);
            }
            // Attack: a method of the candidate's in place of the test code's.
            if (found.size() != 1) throw new IllegalStateException("the test code is not there once");
            Method main = found.get(0);
            Classes.requireAssertions(Class.forName(main.getDeclaringClass().getName()));
            main.setAccessible(true);
            main.invoke(null, (Object) new String[0]);
            kind = null;
        } catch (InvocationTargetException thrown) {
            Throwable fault = thrown.getCause();
            kind = fault instanceof AssertionError ? "assertion" : "exception";
            message = fault + Arrays.stream(fault.getStackTrace()).limit(1).map(at -> " at " + at).reduce("", String::concat);
        } catch (Throwable fault) {
            message = String.valueOf(fault.getMessage());
        }
        String said = kind == null ? "\"passed\",\"kind\":null,\"who\":null" : "\"failed\",\"kind\":\"" + kind + "\",\"who\":\"candidate\"";
        Channel.end("{\"done\":true,\"outcome\":" + said + ",\"message\":" + Values.quoted(message.substring(0, Math.min(message.length(), 2000)))
            + ",\"nonce\":" + Values.quoted(nonce) + ",\"tests\":{},\"calls\":0,\"provenance\":{}}", kind == null);
    }
}
