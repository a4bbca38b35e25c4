package printable

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
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

// finite returns what has the JSON of a value, but for null in the place of what is no number. What writes its own JSON
// sees to that itself.
func finite(v reflect.Value) any {
	switch kind := v.Kind(); {
	case !v.IsValid() || v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return nil
	case v.Type().Implements(marshaler) || v.Type().Implements(texts):
	case kind == reflect.Pointer || kind == reflect.Interface:
		return finite(v.Elem())
	case kind == reflect.Array || kind == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = finite(v.Index(i))
		}
		return list
	case kind == reflect.Map:
		entries := map[string]any{}
		for key, value := range v.Seq2() {
			entries[fmt.Sprint(key)] = finite(value)
		}
		return entries
	case kind == reflect.Struct:
		return finiteFields(v)
	}
	return v.Interface()
}

// finiteFields is finite for a struct: another whose fields have the same names and tags, and which leaves out nil
// where v would leave out what is empty.
func finiteFields(v reflect.Value) any {
	var fields []reflect.StructField
	var values []any
	for _, f := range reflect.VisibleFields(v.Type()) {
		value, err := v.FieldByIndexErr(f.Index)
		if err != nil || !f.IsExported() || f.Anonymous && f.Tag == "" { // those within are visible, too
			continue
		}
		kept := finite(value)
		if list := value.Kind() == reflect.Slice || value.Kind() == reflect.Map; strings.Contains(f.Tag.Get("json"),
			",omitempty") && (list && value.Len() == 0 || value.IsZero() && value.Kind() != reflect.Struct) {
			kept = nil
		}
		fields = append(fields, reflect.StructField{Name: f.Name, Type: anything, Tag: f.Tag})
		values = append(values, kept)
	}
	same := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		if value != nil {
			same.Field(i).Set(reflect.ValueOf(value))
		}
	}
	return same.Interface()
}
