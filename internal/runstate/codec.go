// Package runstate has what runs go on from: numbers of structs as values and arrays, the files that
// have them, and digests of what a run is of.
package runstate

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// What a run goes on from is in structs, of which every field is saved. Their numbers and texts are
// values, of the field's name, and slices of numbers are arrays.

// Values are JSON by name. Numbers that JSON has not, NaN and the infinite ones, are texts.
type Values map[string]json.RawMessage

// eachField calls do for every number, text and slice of numbers in what is a struct, or a pointer
// to one, with a name: that of its field, after those of the structs and arrays around it.
func eachField(name string, of reflect.Value, do func(name string, field reflect.Value) error) error {
	within := func(part string) string {
		if name == "" {
			return part
		}
		return name + "." + part
	}
	switch kind := of.Kind(); {
	case kind == reflect.Pointer && !of.IsNil():
		return eachField(name, of.Elem(), do)
	case !of.CanAddr():
		return fmt.Errorf("learn: a %v cannot be resumed: want a pointer to a struct", of.Type())
	case kind == reflect.Struct:
		for i := range of.NumField() {
			field, is := of.Field(i), of.Type().Field(i)
			path := within(is.Name)
			if is.Anonymous {
				path = name
			}
			// Reflection reads fields of other packages, but sets them by their address alone.
			if err := eachField(path, reflect.NewAt(is.Type, field.Addr().UnsafePointer()).Elem(), do); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Array || kind == reflect.Slice && of.Type().Elem().Kind() == reflect.Slice:
		for i := range of.Len() {
			if err := eachField(within(strconv.Itoa(i)), of.Index(i), do); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Int || kind == reflect.Float64 || kind == reflect.Bool || kind == reflect.String ||
		of.Type() == reflect.TypeFor[[]float64]():
		return do(name, of)
	}
	return fmt.Errorf("learn: %s, a %v, cannot be resumed: want int, float64, bool, string, []float64, and arrays of "+
		"these, structs and pointers to structs", name, of.Type())
}

// Encode returns what a struct has; nil has nothing.
func Encode(name string, state any) (Values, []Array, error) {
	v, arrays := Values{}, []Array(nil)
	if state == nil {
		return v, nil, nil
	}
	seen := map[string]bool{}
	err := eachField(name, reflect.ValueOf(state), func(name string, field reflect.Value) (err error) {
		if seen[name] { // of a struct and of one that it embeds
			return fmt.Errorf("learn: two fields are saved as %s: give them different names", name)
		}
		seen[name] = true
		switch field.Kind() {
		case reflect.Slice:
			arrays = append(arrays, Array{Name: name, Values: field.Interface().([]float64)})
		case reflect.Float64:
			if x := field.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
				v[name], err = json.Marshal(strconv.FormatFloat(x, 'g', -1, 64))
				return err
			}
			fallthrough
		default:
			v[name], err = json.Marshal(field.Interface())
		}
		return err
	})
	return v, arrays, err
}

// Decode writes values where Encode found them. Those of other names are none of this struct.
func (v Values) Decode(name string, state any) error {
	left := len(v)
	if state == nil {
		return v.strangers(left)
	}
	err := eachField(name, reflect.ValueOf(state), func(name string, field reflect.Value) error {
		if field.Kind() == reflect.Slice {
			return nil
		}
		text, ok := v[name]
		if !ok {
			return Errorf("no value %q", name)
		}
		left--
		var word string
		if field.Kind() == reflect.Float64 && json.Unmarshal(text, &word) == nil {
			text = nil
			if x, err := strconv.ParseFloat(word, 64); err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
				field.SetFloat(x)
				return nil
			}
		}
		if string(text) == "null" || json.Unmarshal(text, field.Addr().Interface()) != nil {
			return Errorf("value %q is %s, want a %v", name, v[name], field.Kind())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.strangers(left)
}

func (v Values) strangers(left int) error {
	if left > 0 {
		return Errorf("%d values more than this version knows", left)
	}
	return nil
}
