// Package rewarden has the sides of two rooms (docs/rooms.md).
package rewarden

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	mostBytes, mostDepth, mostNodes = 8 << 20, 100, 100_000
	mostDigits                      = 100_000
)

type bad string
type uncrossable string
type lost struct{}

var (
	bigType   = reflect.TypeOf(big.Int{})
	errorType = reflect.TypeOf((*error)(nil)).Elem()
	emptyType = reflect.TypeOf(struct{}{})
)

// --- JSON: nil, bool, string, json.Number, []any and map[string]any

func parse(data []byte) map[string]any {
	if len(data) > mostBytes {
		panic(bad("too many bytes"))
	}
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.UseNumber()
	var found map[string]any
	if reader.Decode(&found) != nil || found == nil || reader.More() {
		panic(bad("not an object"))
	}
	return found
}

func text(value any) string {
	if found, is := value.(string); is {
		return found
	}
	panic(bad("not a text"))
}

func list(value any) []any {
	if found, is := value.([]any); is {
		return found
	}
	panic(bad("not an array"))
}

func quote(out *strings.Builder, value string) {
	if !utf8.ValidString(value) { // bytes that are no text
		fmt.Fprintf(out, `{"bytes":"%s"}`, hex.EncodeToString([]byte(value)))
		return
	}
	out.WriteString(quoted(value))
}

func quoted(value string) string {
	out := strconv.AppendQuoteToASCII(nil, "")[:0]
	out = append(out, '"')
	for _, point := range value {
		switch {
		case point == '"' || point == '\\':
			out = append(out, '\\', byte(point))
		case point >= 0x20 && point < 0x7f:
			out = append(out, byte(point))
		case point < 0x10000:
			out = append(out, fmt.Sprintf(`\u%04x`, point)...)
		default:
			out = append(out, fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(point-0x10000)>>10, 0xdc00+(point-0x10000)&0x3ff)...)
		}
	}
	return string(append(out, '"'))
}

// --- LeetCode's nodes: a list of values, and a tree level by level with null for a missing child

func node(of reflect.Type, names ...string) bool {
	if of.Kind() != reflect.Struct {
		return false
	}
	if _, has := of.FieldByName("Val"); !has {
		return false
	}
	for _, name := range names {
		if field, has := of.FieldByName(name); !has || field.Type != reflect.PointerTo(of) {
			return false
		}
	}
	return true
}

func linked(of reflect.Type) bool { return node(of, "Next") }
func tree(of reflect.Type) bool   { return node(of, "Left", "Right") }

// --- writing

func encoded(value reflect.Value) string {
	var out strings.Builder
	encode(&out, value, 0)
	if out.Len() > mostBytes {
		panic(uncrossable("too many bytes"))
	}
	return out.String()
}

func encode(out *strings.Builder, value reflect.Value, depth int) {
	if depth > mostDepth {
		panic(uncrossable("nested too deep"))
	}
	if out.Len() > mostBytes {
		panic(uncrossable("too many bytes"))
	}
	if !value.IsValid() {
		out.WriteString("null")
		return
	}
	switch value.Kind() {
	case reflect.Bool:
		out.WriteString(strconv.FormatBool(value.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		fmt.Fprintf(out, `{"i":"%s"}`, strconv.FormatInt(value.Int(), 16))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		fmt.Fprintf(out, `{"i":"%s"}`, strconv.FormatUint(value.Uint(), 16))
	case reflect.Float32, reflect.Float64:
		fmt.Fprintf(out, `{"f":"%s"}`, float(value))
	case reflect.String:
		quote(out, value.String())
	case reflect.Slice, reflect.Array:
		all(out, "l", value.Len(), value.Index, depth)
	case reflect.Map:
		keys := value.MapKeys()
		if value.Type().Elem() == emptyType {
			all(out, "s", len(keys), func(at int) reflect.Value { return keys[at] }, depth)
			return
		}
		pairs := make([]string, len(keys))
		for at, key := range keys {
			var pair strings.Builder
			encode(&pair, key, depth+1)
			pair.WriteString(",")
			encode(&pair, value.MapIndex(key), depth+1)
			pairs[at] = "[" + pair.String() + "]"
		}
		sort.Strings(pairs) // a dictionary that did not change is written alike
		out.WriteString(`{"d":[` + strings.Join(pairs, ",") + "]}")
	case reflect.Interface:
		if value.Type() == errorType && !value.IsNil() {
			fmt.Fprintf(out, `{"error":%s}`, quoted(clean(value.Interface().(error).Error())))
			return
		}
		encode(out, value.Elem(), depth)
	case reflect.Pointer:
		of := value.Type().Elem()
		switch {
		case linked(of) || tree(of):
			found := chain(value)
			if tree(of) {
				found = levels(value)
			}
			all(out, "l", len(found), func(at int) reflect.Value { return found[at] }, depth)
		case value.IsNil():
			out.WriteString("null")
		case of == bigType:
			fmt.Fprintf(out, `{"i":"%s"}`, value.Interface().(*big.Int).Text(16))
		default:
			encode(out, value.Elem(), depth+1)
		}
	default:
		panic(uncrossable(value.Type().String()))
	}
}

func clean(message string) string {
	if len(message) > 2000 {
		message = message[:2000]
	}
	return strings.ToValidUTF8(message, "?")
}

// A float32 counts as the shortest decimal that names it: 0.1 and not 0.10000000149.
func float(value reflect.Value) string {
	real := value.Float()
	if value.Kind() == reflect.Float32 {
		real, _ = strconv.ParseFloat(strconv.FormatFloat(real, 'g', -1, 32), 64)
	}
	switch {
	case math.IsNaN(real):
		return "nan"
	case math.IsInf(real, 1):
		return "inf"
	case math.IsInf(real, -1):
		return "-inf"
	}
	return strconv.FormatFloat(real, 'x', -1, 64)
}

func all(out *strings.Builder, tag string, size int, item func(int) reflect.Value, depth int) {
	out.WriteString(`{"` + tag + `":[`)
	for at := 0; at < size; at++ {
		if at > 0 {
			out.WriteString(",")
		}
		encode(out, item(at), depth+1)
	}
	out.WriteString("]}")
}

func chain(at reflect.Value) []reflect.Value {
	var found []reflect.Value
	for ; !at.IsNil(); at = at.Elem().FieldByName("Next") {
		if len(found) >= mostNodes {
			panic(uncrossable("a list without an end"))
		}
		found = append(found, at.Elem().FieldByName("Val"))
	}
	return found
}

func levels(root reflect.Value) []reflect.Value {
	var found []reflect.Value
	for waiting := []reflect.Value{root}; len(waiting) > 0; waiting = waiting[1:] {
		if len(found) >= mostNodes {
			panic(uncrossable("a tree without an end"))
		}
		if waiting[0].IsNil() {
			found = append(found, reflect.Value{})
			continue
		}
		made := waiting[0].Elem()
		found = append(found, made.FieldByName("Val"))
		waiting = append(waiting, made.FieldByName("Left"), made.FieldByName("Right"))
	}
	for len(found) > 0 && !found[len(found)-1].IsValid() {
		found = found[:len(found)-1]
	}
	return found
}

// --- reading

func decode(value any, of reflect.Type) reflect.Value {
	made := reflect.New(of).Elem()
	if of.Kind() == reflect.Pointer && !linked(of.Elem()) && !tree(of.Elem()) && of.Elem() != bigType && value != nil {
		made.Set(reflect.New(of.Elem()))
		made.Elem().Set(decode(value, of.Elem()))
		return made
	}
	if of.Kind() == reflect.Interface && of != errorType && of.NumMethod() > 0 {
		panic(bad("a value of another type"))
	}
	switch found := value.(type) {
	case nil:
		switch of.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map:
			return made
		}
		panic(bad("no value"))
	case bool:
		return put(made, reflect.ValueOf(found), reflect.Bool)
	case string:
		return word(made, found)
	case map[string]any:
		if len(found) == 1 {
			for tag, payload := range found {
				return tagged(made, tag, payload)
			}
		}
	}
	panic(bad("not a value"))
}

func put(made reflect.Value, found reflect.Value, kind reflect.Kind) reflect.Value {
	switch made.Kind() {
	case kind:
		made.Set(found.Convert(made.Type()))
	case reflect.Interface:
		made.Set(found)
	default:
		panic(bad("a value of another type"))
	}
	return made
}

func word(made reflect.Value, found string) reflect.Value {
	points := []rune(found)
	switch kind := made.Kind(); {
	case kind == reflect.Int32 && len(points) == 1: // a rune
		made.SetInt(int64(points[0]))
		return made
	case kind == reflect.Uint8 && len(points) == 1 && points[0] < 0x80: // a byte
		made.SetUint(uint64(points[0]))
		return made
	}
	return put(made, reflect.ValueOf(found), reflect.String)
}

func tagged(made reflect.Value, tag string, payload any) reflect.Value {
	switch tag {
	case "i":
		return whole(made, integer(text(payload), 16))
	case "f":
		real, fault := strconv.ParseFloat(text(payload), 64)
		if fault != nil {
			panic(bad("not a number"))
		}
		switch made.Kind() {
		case reflect.Float32, reflect.Float64:
			made.SetFloat(real)
			return made
		case reflect.Interface:
			made.Set(reflect.ValueOf(real))
			return made
		}
		if real != math.Trunc(real) || math.Abs(real) > 9e15 {
			panic(bad("not an integer"))
		}
		return whole(made, big.NewInt(int64(real)))
	case "bytes":
		data, fault := hex.DecodeString(text(payload))
		if fault != nil {
			panic(bad("not a text"))
		}
		return put(made, reflect.ValueOf(string(data)), reflect.String)
	case "error":
		if made.Type() != errorType {
			panic(bad("a value of another type"))
		}
		made.Set(reflect.ValueOf(errors.New(text(payload))))
		return made
	case "d":
		return dictionary(made, list(payload))
	case "l", "t", "s", "frozenset":
		return items(made, list(payload))
	}
	panic(bad("an unknown tag"))
}

func integer(digits string, base int) *big.Int {
	found, good := new(big.Int), false
	if len(digits) <= mostDigits {
		_, good = found.SetString(digits, base)
	}
	if !good || strings.ContainsAny(digits, "+_") {
		panic(bad("not an integer"))
	}
	return found
}

func whole(made reflect.Value, found *big.Int) reflect.Value {
	switch made.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if found.IsInt64() && !made.OverflowInt(found.Int64()) {
			made.SetInt(found.Int64())
			return made
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if found.IsUint64() && !made.OverflowUint(found.Uint64()) {
			made.SetUint(found.Uint64())
			return made
		}
	case reflect.Float32, reflect.Float64:
		real, _ := new(big.Float).SetInt(found).Float64()
		made.SetFloat(real)
		return made
	case reflect.Interface:
		if found.IsInt64() {
			made.Set(reflect.ValueOf(int(found.Int64())))
		} else {
			made.Set(reflect.ValueOf(found))
		}
		return made
	case reflect.Pointer:
		if made.Type().Elem() == bigType {
			made.Set(reflect.ValueOf(found))
			return made
		}
	}
	panic(bad("an integer that does not fit"))
}

func dictionary(made reflect.Value, pairs []any) reflect.Value {
	into := made
	if made.Kind() == reflect.Interface {
		into = reflect.ValueOf(map[any]any{})
		names := true
		for _, pair := range pairs {
			_, is := first(pair).(string)
			names = names && is
		}
		if names {
			into = reflect.ValueOf(map[string]any{})
		}
		made.Set(into)
	} else if made.Kind() == reflect.Map {
		into.Set(reflect.MakeMap(made.Type()))
	} else {
		panic(bad("not a dictionary"))
	}
	for _, pair := range pairs {
		found := key(first(pair), into.Type().Key())
		if !hashable(found) {
			panic(bad("not a key"))
		}
		into.SetMapIndex(found, decode(list(pair)[1], into.Type().Elem()))
	}
	return made
}

func first(pair any) any {
	if len(list(pair)) != 2 {
		panic(bad("not a pair"))
	}
	return list(pair)[0]
}

func hashable(key reflect.Value) bool {
	if key.Kind() == reflect.Interface {
		key = key.Elem()
	}
	return key.IsValid() && key.Type().Comparable()
}

// JSON has texts as keys only.
func key(value any, of reflect.Type) reflect.Value {
	if digits, is := value.(string); is && len(digits) <= 20 {
		switch of.Kind() {
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64, reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			return whole(reflect.New(of).Elem(), integer(digits, 10))
		}
	}
	return decode(value, of)
}

func items(made reflect.Value, found []any) reflect.Value {
	of := made.Type()
	switch made.Kind() {
	case reflect.Interface:
		into := make([]any, len(found))
		for at, item := range found {
			reflect.ValueOf(into).Index(at).Set(decode(item, of))
		}
		made.Set(reflect.ValueOf(into))
		return made
	case reflect.Slice:
		made.Set(reflect.MakeSlice(of, len(found), len(found)))
		fallthrough
	case reflect.Array:
		if made.Len() != len(found) {
			panic(bad("an array of another size"))
		}
		for at, item := range found {
			made.Index(at).Set(decode(item, of.Elem()))
		}
		return made
	case reflect.Map:
		if of.Elem() == emptyType || of.Elem().Kind() == reflect.Bool {
			made.Set(reflect.MakeMap(of))
			is := reflect.New(of.Elem()).Elem()
			if is.Kind() == reflect.Bool {
				is.SetBool(true)
			}
			for _, item := range found {
				made.SetMapIndex(key(item, of.Key()), is)
			}
			return made
		}
	case reflect.Pointer:
		switch {
		case linked(of.Elem()):
			for at := len(found) - 1; at >= 0; at-- {
				one := newNode(found[at], of)
				one.Elem().FieldByName("Next").Set(made)
				made = one
			}
			return made
		case tree(of.Elem()):
			return treeOf(found, of)
		}
	}
	panic(bad("a value of another type"))
}

func newNode(value any, of reflect.Type) reflect.Value {
	made := reflect.New(of.Elem())
	place := made.Elem().FieldByName("Val")
	place.Set(decode(value, place.Type()))
	return made
}

func treeOf(found []any, of reflect.Type) reflect.Value {
	root := reflect.New(of).Elem()
	places := []reflect.Value{root}
	for _, item := range found {
		if len(places) == 0 {
			panic(bad("a node without a parent"))
		}
		if item != nil {
			made := newNode(item, of)
			places[0].Set(made)
			places = append(places, made.Elem().FieldByName("Left"), made.Elem().FieldByName("Right"))
		}
		places = places[1:]
	}
	return root
}
