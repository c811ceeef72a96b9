package Bridge;

import java.util.*;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.*;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.*;
import org.junit.platform.launcher.*;
import org.junit.platform.launcher.core.*;
import org.junit.vintage.engine.VintageTestEngine;

/** Runs the tests of a test file, and reports. The nonce is in variables of one call alone, because reflection reaches
 * every field and every method. */
final class JUnit implements TestExecutionListener {
    /** Packages whose names a test file uses without importing each, and names of the most common classes in them. */
    private static final List<String> FRAMEWORKS = List.of(
        "org.junit.", "org.junit.jupiter.api.", "org.junit.jupiter.params.", "org.junit.jupiter.params.provider.",
        "org.hamcrest.", "junit.framework.");
    private static final Set<String> COMMON = Set.of(
        "String", "Object", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Math", "Iterable",
        "Throwable", "Exception", "RuntimeException", "AssertionError", "StringBuilder", "Arrays", "Objects", "List",
        "Map", "Set", "Collections", "Optional", "ArrayList", "HashMap", "HashSet");

    private final Set<String> expected = new LinkedHashSet<>();
    private final Map<String, String> outcomes = new HashMap<>();
    private String kind, message;

    static void run(String... classes) {
        Map<?, ?> options = Channel.asked();
        String nonce = Values.string(Values.at(options, "nonce"));
        JUnit tests = new JUnit();
        for (Object name : Values.list(Values.at(options, "expect"))) tests.expected.add(Values.string(name));
        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(true);
        try {
            tests.guard(List.of(classes));
            tests.execute(classes);
            for (String name : classes) Classes.requireAssertions(Class.forName(name));
        } catch (IllegalStateException fault) {
            tests.fault("tampered", fault.getMessage());
        } catch (Throwable fault) {
            tests.fault("exception", fault.toString());
        }
        Channel.end(tests.report(nonce), tests.message == null);
    }

    /** Attack: classes that take the place of the framework's, or of Java's, in the test file's package. */
    private void guard(List<String> classes) {
        for (Class<?> type : Classes.all()) {
            String name = type.getSimpleName();
            if (type.getEnclosingClass() != null || classes.contains(type.getName())) continue;
            boolean taken = COMMON.contains(name);
            for (String place : FRAMEWORKS) {
                try {
                    Class.forName(place + name, false, ClassLoader.getSystemClassLoader());
                    taken = true;
                } catch (ClassNotFoundException | LinkageError fault) {
                    // no name of the framework's
                }
            }
            if (taken) throw new IllegalStateException("the program has a class " + name);
        }
    }

    private void execute(String[] classes) {
        LauncherConfig config = LauncherConfig.builder().addTestEngines(new JupiterTestEngine(), new VintageTestEngine())
            .enableTestEngineAutoRegistration(false).enableTestExecutionListenerAutoRegistration(false)
            .enableLauncherSessionListenerAutoRegistration(false).enableLauncherDiscoveryListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false).build();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
            .selectors(Arrays.stream(classes).map(DiscoverySelectors::selectClass).toArray(DiscoverySelector[]::new))
            .filters((PostDiscoveryFilter) each -> FilterResult.includedIf(isWanted(each.getSource())))
            .enableImplicitConfigurationParameters(false).build();
        LauncherFactory.create(config).execute(request, this);
    }

    private boolean isWanted(Optional<TestSource> source) {
        return !(source.orElse(null) instanceof MethodSource method) || expected.contains(name(method));
    }

    private static String name(String type) {
        return type.substring(type.lastIndexOf('.') + 1).replace('$', '.');
    }

    private static String name(MethodSource source) {
        return name(source.getClassName()) + "." + source.getMethodName().replaceAll("\\[.*", "");
    }

    private synchronized void fault(String kind, String message) {
        if (this.message != null) return;
        this.kind = kind;
        this.message = message;
    }

    /** Takes the outcome of a test, of one of its runs with other arguments, or of what contains tests. */
    private synchronized void note(TestIdentifier test, String outcome) {
        TestSource source = test.getSource().orElse(null);
        if (source instanceof MethodSource method) {
            if (test.isTest() || !outcome.equals("passed")) outcomes.merge(name(method), outcome, (old, now) -> old.equals("passed") ? now : old);
        } else if (source instanceof ClassSource type && !outcome.equals("passed")) {
            for (String name : expected) if (name.startsWith(name(type.getClassName()) + ".")) outcomes.put(name, outcome);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        note(test, "skipped");
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        note(test, switch (result.getStatus()) {
            case SUCCESSFUL -> "passed";
            case ABORTED -> "skipped";
            case FAILED -> "failed";
        });
        Throwable thrown = result.getThrowable().orElse(null);
        if (result.getStatus() != TestExecutionResult.Status.FAILED) return;
        String said;
        try {
            said = String.valueOf(thrown);
        } catch (Throwable fault) {
            said = "an exception without a text";
        }
        fault(thrown instanceof AssertionError ? "assertion" : "exception", test.getDisplayName() + ": " + said);
    }

    private synchronized String report(String nonce) {
        StringBuilder listed = new StringBuilder();
        for (String name : expected) {
            String outcome = outcomes.get(name);
            if (!"passed".equals(outcome)) fault("no_pass", name + (outcome == null ? " did not run" : " was " + outcome));
            if (outcome != null) listed.append(listed.length() > 0 ? "," : "").append(Values.quoted(name)).append(":\"").append(outcome).append('"');
        }
        String said = message == null ? "\"passed\",\"kind\":null,\"who\":null" : "\"failed\",\"kind\":\"" + kind + "\",\"who\":\"candidate\"";
        String why = message == null ? "" : message.substring(0, Math.min(message.length(), 2000));
        return "{\"done\":true,\"outcome\":" + said + ",\"message\":" + Values.quoted(why) + ",\"nonce\":" + Values.quoted(nonce)
            + ",\"tests\":{" + listed + "},\"calls\":0,\"provenance\":{}}";
    }
}
