package rewarden

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// The candidate's side, for the modes `call` and `serve`: a table of its functions by name.
type outcome struct {
	results       []reflect.Value
	args          []reflect.Value
	before, after []string
}

func invoked(function any, given []any, room bool) outcome {
	call := reflect.ValueOf(function)
	of := call.Type()
	if len(given) != of.NumIn() {
		panic(bad(fmt.Sprintf("another number of arguments: %d", len(given))))
	}
	var done outcome
	for at, value := range given {
		done.args = append(done.args, decode(value, of.In(at)))
	}
	if room {
		done.before = state(done.args)
	}
	if of.IsVariadic() {
		done.results = call.CallSlice(done.args)
	} else {
		done.results = call.Call(done.args)
	}
	if room {
		done.after = state(done.args)
	}
	return done
}

// Returns the arguments that a call can change, as tagged JSON, and "" for others.
func state(args []reflect.Value) []string {
	found := make([]string, len(args))
	for at, value := range args {
		switch value.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer:
			found[at] = encoded(value)
		}
	}
	return found
}

func value(results []reflect.Value) string {
	switch len(results) {
	case 0:
		return "null"
	case 1:
		return encoded(results[0])
	}
	var out strings.Builder
	all(&out, "t", len(results), func(at int) reflect.Value { return results[at] }, 0)
	return out.String()
}

func failure(fault any, kind, message string) string {
	return fmt.Sprintf(`"%s":%s,"%s":%s`, kind, quoted(fmt.Sprintf("%T", fault)), message, quoted(clean(fmt.Sprint(fault))))
}

func called(table map[string]any) (said string, good bool) {
	defer func() {
		if fault := recover(); fault != nil {
			good = false
			if what, is := fault.(uncrossable); is {
				said = `{"uncrossable":` + quoted(clean(string(what))) + "}"
			} else {
				said = "{" + failure(fault, "error", "message") + "}"
			}
		}
	}()
	request := asked()
	target := text(request["target"])
	function, has := table[target]
	if !has {
		return `{"missing":` + quoted(clean(target)) + "}", false
	}
	results := invoked(function, list(request["args"]), false).results
	if last := len(results) - 1; last >= 0 && results[last].Type() == errorType {
		if !results[last].IsNil() {
			return "{" + failure(results[last].Interface(), "error", "message") + "}", false
		}
		results = results[:last]
	}
	return `{"value":` + value(results) + "}", true
}

// Call makes one call.
func Call(table map[string]any) {
	end(called(table))
}

func answer(table map[string]any, question map[string]any) (said string) {
	defer func() {
		if fault := recover(); fault != nil {
			if what, is := fault.(uncrossable); is {
				said = `"is":"uncrossable","type":` + quoted(clean(string(what)))
			} else {
				said = `"is":"raised",` + failure(fault, "type", "message")
			}
		}
	}()
	function, has := table[text(question["name"])]
	if !has {
		return `"is":"absent"`
	}
	if question["op"] != "call" {
		return `"is":"function"`
	}
	done := invoked(function, list(question["args"]), true)
	var after []string
	for at := range done.args {
		if done.before[at] != done.after[at] {
			after = append(after, fmt.Sprintf(`"%d":%s`, at, done.after[at]))
		}
	}
	return `"is":"value","value":` + value(done.results) + `,"after":{` + strings.Join(after, ",") + "}"
}

// Serve answers the tests' room.
func Serve(table map[string]any) {
	defer func() {
		if _, is := recover().(lost); is {
			os.Exit(0)
		}
		os.Exit(1)
	}()
	send(`{"is":"loaded"}`)
	for {
		question := receive()
		id, is := question["id"].(json.Number)
		if !is {
			panic(bad("not a number"))
		}
		said := fmt.Sprintf(`{"id":%s,%s}`, id, answer(table, question))
		if len(said) > mostBytes {
			said = fmt.Sprintf(`{"id":%s,"is":"uncrossable","type":"too many bytes"}`, id)
		}
		send(said)
	}
}
