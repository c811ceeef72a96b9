package rewarden

import (
	"fmt"
	"strings"
	"testing"
)

// The outcomes of a test file's tests, in the order in which they ended.
type outcomes struct {
	names   []string
	of      map[string]string
	message string
}

func (o *outcomes) note(name, outcome string) {
	if o.of[name] == "" {
		o.names = append(o.names, name)
	} else {
		outcome = "twice"
	}
	o.of[name] = outcome
}

func (o *outcomes) report() {
	var listed []string
	outcome, kind := "passed", "null"
	for _, name := range o.names {
		listed = append(listed, quoted(name)+":"+quoted(o.of[name]))
		if o.of[name] != "passed" {
			outcome, kind = "failed", `"no_pass"`
			if o.message == "" {
				o.message = name + ": " + o.of[name]
			}
		}
	}
	end(fmt.Sprintf(`{"done":true,"outcome":"%s","kind":%s,"who":"candidate","message":%s,"nonce":%s,"tests":{%s},"calls":0,"provenance":{}}`,
		outcome, kind, quoted(clean(o.message)), quoted(nonce), strings.Join(listed, ",")), outcome == "passed")
}

// File runs the tests of a test file as `go test` does, and reports.
func File(tests []testing.InternalTest) {
	onlyMain()
	found := &outcomes{of: map[string]string{}}
	one := testing.InternalTest{Name: "tests", F: func(t *testing.T) {
		t.Cleanup(found.report) // after all tests have ended
		for _, each := range tests {
			name, run := each.Name, each.F
			if !expected[name] {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Cleanup(func() {
					switch {
					case t.Failed():
						found.note(name, "failed")
					case t.Skipped():
						found.note(name, "skipped")
					default:
						found.note(name, "passed")
					}
				})
				defer func() {
					if fault := recover(); fault != nil {
						found.message = fmt.Sprintf("%s: panic: %v", name, fault)
						t.Fail()
					}
				}()
				run(t)
			})
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{one}, nil, nil)
}
