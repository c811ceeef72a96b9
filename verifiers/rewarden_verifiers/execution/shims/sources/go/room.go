package rewarden

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The tests' room: functions that ask the other room, and the report.
var (
	nonce              string
	expected           = map[string]bool{} // of a test file
	shared, writesBack bool
	uses               int
	changed            []string
	asking             sync.Mutex
)

func report(outcome, kind, who, message string) {
	word := func(text string) string {
		if text == "" {
			return "null"
		}
		return quoted(text)
	}
	behind := ""
	if len(changed) > 0 {
		behind = `"argument_mutated":[` + strings.Join(changed[:min(len(changed), 1000)], ",") + "]"
	}
	end(fmt.Sprintf(`{"done":true,"outcome":"%s","kind":%s,"who":%s,"message":%s,"nonce":%s,"tests":{},"calls":%d,"provenance":{%s}}`,
		outcome, word(kind), word(who), quoted(clean(message)), quoted(nonce), uses, behind), outcome == "passed")
}

func min(one, other int) int {
	if one < other {
		return one
	}
	return other
}

// The candidate's fault; the process ends here, so that no recover of a test can turn it into a pass.
func fail(kind, message string) { report("failed", kind, "candidate", message) }

func failed(kind, message string) {
	if uses == 0 && !shared {
		report("error", "test_code", "tests", message)
	}
	fail(kind, message)
}

func passed() {
	if uses == 0 && !shared {
		report("error", "test_code", "tests", "the test code never used the candidate")
	}
	report("passed", "", "", "")
}

// Reads the options, and waits until the candidate has loaded: before the test code's own variables are made.
func init() {
	options := asked()
	nonce = text(options["nonce"])
	shared = options["shared"] == true
	writesBack = options["writes_back"] != false
	if names, has := options["expect"]; has {
		for _, name := range list(names) {
			expected[text(name)] = true
		}
	}
	if shared {
		return
	}
	defer blamed("loading")
	if receive()["is"] != "loaded" {
		panic(bad("the first frame is no greeting"))
	}
}

func blamed(doing string) {
	switch fault := recover().(type) {
	case nil:
	case lost:
		fail("candidate_lost", "the candidate's process ended while it was "+doing)
	case bad:
		fail("bad_frame", string(fault))
	case uncrossable:
		report("error", "unsupported", "tests", "an argument cannot cross: "+string(fault))
	default:
		fail("bad_frame", fmt.Sprint(fault))
	}
}

// Bind returns a function that asks the other room.
func Bind[F any](name string) F {
	of := reflect.TypeOf((*F)(nil)).Elem()
	made := reflect.MakeFunc(of, func(args []reflect.Value) []reflect.Value {
		results, raised := ask(name, of, args)
		if raised != nil {
			panic(raised)
		}
		return results
	})
	return made.Interface().(F)
}

func ask(name string, of reflect.Type, args []reflect.Value) (results []reflect.Value, raised error) {
	asking.Lock()
	defer asking.Unlock()
	defer blamed("answering")
	uses++
	var question strings.Builder
	fmt.Fprintf(&question, `{"op":"call","of":0,"id":%d,"name":%s,"args":[`, uses, quoted(name))
	for at, value := range args {
		if at > 0 {
			question.WriteString(",")
		}
		question.WriteString(encoded(value))
	}
	send(question.String() + `],"kwargs":{},"capture":false}`)
	answer := receive()
	if answer["id"] != json.Number(fmt.Sprint(uses)) {
		panic(bad("an answer to another question"))
	}
	switch answer["is"] {
	case "value":
		results = valuesOf(answer["value"], of)
		after, _ := answer["after"].(map[string]any)
		if len(after) > 0 {
			changed = append(changed, fmt.Sprint(uses))
		}
		for at, value := range args {
			if now, has := after[fmt.Sprint(at)]; has && writesBack {
				replace(value, decode(now, value.Type()))
			}
		}
		return results, nil
	case "uncrossable":
		fail("uncrossable_value", "a value cannot cross: "+text(answer["type"]))
	case "raised":
		return nil, errors.New(text(answer["message"]))
	}
	panic(bad("no such answer"))
}

func valuesOf(value any, of reflect.Type) []reflect.Value {
	switch of.NumOut() {
	case 0:
		if value != nil {
			panic(bad("a value where none is"))
		}
		return nil
	case 1:
		return []reflect.Value{decode(value, of.Out(0))}
	}
	found, is := value.(map[string]any)
	if !is || len(found) != 1 || len(list(found["t"])) != of.NumOut() {
		panic(bad("another number of results"))
	}
	var results []reflect.Value
	for at, item := range list(found["t"]) {
		results = append(results, decode(item, of.Out(at)))
	}
	return results
}

// Makes of an argument what the candidate made of it.
func replace(old, now reflect.Value) {
	switch {
	case old.Kind() == reflect.Slice && old.Len() == now.Len():
		reflect.Copy(old, now)
	case old.Kind() == reflect.Map && !old.IsNil():
		for _, key := range old.MapKeys() {
			old.SetMapIndex(key, reflect.Value{})
		}
		for _, key := range now.MapKeys() {
			old.SetMapIndex(key, now.MapIndex(key))
		}
	case old.Kind() == reflect.Pointer && !old.IsNil() && !now.IsNil():
		old.Elem().Set(now.Elem())
	default:
		panic(bad("an argument of another kind"))
	}
}

// Ends the program unless main called the function that calls this. Where it is beside test code, the candidate is in
// another package. Attack: report tests of one's own.
func onlyMain() {
	callers := make([]uintptr, 1)
	runtime.Callers(3, callers)
	if caller, _ := runtime.CallersFrames(callers).Next(); caller.Function != "main.main" {
		fail("tampered", "the report is not the candidate's to write")
	}
}

// Word is what the names of the language's own words stand for in a file of the candidate's package, so that the
// candidate cannot declare them: `func len` would be another function for its tests too.
const Word = 0

// Tests runs tests as `go test` does, and reports.
func Tests(tests []testing.InternalTest) {
	onlyMain()
	ran := 0
	one := testing.InternalTest{Name: "tests", F: func(t *testing.T) {
		skipped := false
		t.Cleanup(func() { // after all tests have ended
			if t.Failed() {
				failed("assertion", "a test failed")
			}
			if skipped || ran != len(tests) {
				fail("no_pass", "a test was skipped")
			}
			passed()
		})
		for _, each := range tests {
			run := each.F
			t.Run(each.Name, func(t *testing.T) {
				t.Cleanup(func() {
					ran++
					skipped = skipped || t.Skipped()
				})
				defer caught()
				run(t)
			})
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{one}, nil, nil)
}

// Main runs test code that is a program, and reports.
func Main(run func()) {
	onlyMain()
	defer caught()
	run()
	passed()
}

func caught() {
	if fault := recover(); fault != nil {
		failed("exception", fmt.Sprint(fault))
	}
}
