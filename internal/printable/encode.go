package printable

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
)

// Encode is the JSON of a value, indented if there is an indent, without a line end. All that
// is not printed is escaped.
func Encode(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // no browser takes it for a page
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return escapeJSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// EncodeResult is Encode for what people are told, where no number may be in the way of all
// others: NaN and infinities, for which JSON has no number, are null, wherever they stand.
func EncodeResult(v any, indent string) ([]byte, error) {
	text, err := Encode(v, indent)
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) {
		return Encode(finite(reflect.ValueOf(v)), indent)
	}
	return text, err
}

var (
	anything  = reflect.TypeFor[any]()
	marshaler = reflect.TypeFor[json.Marshaler]()
	texts     = reflect.TypeFor[encoding.TextMarshaler]()
)

// finite returns what has the JSON of a value, but for null in the place of what is no
// number. What writes its own JSON sees to that itself.
func finite(v reflect.Value) any {
	if !v.IsValid() || v.Type().Implements(marshaler) || v.Type().Implements(texts) {
		return held(v)
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return nil
		}
	case reflect.Pointer, reflect.Interface:
		return finite(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && (v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8) {
			break // null, or base64
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = finite(v.Index(i))
		}
		return list
	case reflect.Map:
		entries := reflect.MakeMap(reflect.MapOf(v.Type().Key(), anything))
		for key, value := range v.Seq2() {
			entries.SetMapIndex(key, boxed(finite(value)))
		}
		return entries.Interface()
	case reflect.Struct:
		return finiteFields(v)
	}
	return held(v)
}

// finiteFields is finite for a struct: another whose fields have the same names and tags.
func finiteFields(v reflect.Value) any {
	var fields []reflect.StructField
	var values []reflect.Value
	for _, f := range reflect.VisibleFields(v.Type()) {
		value, err := v.FieldByIndexErr(f.Index)
		if err != nil || !f.IsExported() || f.Anonymous && f.Tag == "" { // those within are visible, too
			continue
		}
		omitted := strings.Contains(f.Tag.Get("json"), ",omitempty") && empty(value)
		fields = append(fields, reflect.StructField{Name: f.Name, Type: anything, Tag: f.Tag})
		if values = append(values, reflect.Zero(anything)); !omitted {
			values[len(values)-1] = boxed(finite(value))
		}
	}
	same := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		same.Field(i).Set(value)
	}
	return same.Interface()
}

// empty reports what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// held is what a value holds, boxed the other way round.
func held(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func boxed(x any) reflect.Value {
	box := reflect.New(anything).Elem()
	if x != nil {
		box.Set(reflect.ValueOf(x))
	}
	return box
}
