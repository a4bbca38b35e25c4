package report

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// TableOf is a table of rows, a slice of structs: a column for each field with this tag, in the order of the fields.
// The tag is the header and, behind a semicolon, the format by which fmt writes values, if not as they are:
//
//	Seconds float64 `table:"seconds;%.2f"`
//
// NaN is a dash. A row with a method FieldText() string writes the cell of that field
// itself. It panics where rows are no structs.
func TableOf(rows any, tag string) (t Table) {
	all := reflect.ValueOf(rows)
	t.Rows = make([][]string, all.Len())
	row := all.Type().Elem()
	for i := range row.NumField() {
		text, ok := row.Field(i).Tag.Lookup(tag)
		if !ok {
			continue
		}
		header, format, formatted := strings.Cut(text, ";")
		if !formatted {
			format = "%v"
		}
		t.Headers = append(t.Headers, header)
		method, ownText := row.MethodByName(row.Field(i).Name + "Text")
		for r := range t.Rows {
			value := all.Index(r).Field(i)
			cell := ""
			switch {
			case ownText:
				cell = all.Index(r).Method(method.Index).Call(nil)[0].String()
			case value.CanFloat() && math.IsNaN(value.Float()):
				cell = "–"
			default:
				cell = fmt.Sprintf(format, value.Interface())
			}
			t.Rows[r] = append(t.Rows[r], cell)
		}
	}
	return t
}
