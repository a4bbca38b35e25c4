package report

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// TableOf is a table of rows, a slice of structs: a column for each field with this
// tag, in the order of the fields. The tag is the header and, after semicolons, how
// values are written and what stands for 0:
//
//	Rate float64 `table:"messages/µs;millions;"`
//
// A value is written as a format of fmt says, as "bytes", "percent" or "millions", or as
// it is where nothing is said. NaN is a dash. A row with a method FieldText() string
// writes the cell of that field itself. It panics where rows are no structs.
func TableOf(rows any, tag string) Table {
	var t Table
	all := reflect.ValueOf(rows)
	row := all.Type().Elem()
	var columns []tableColumn
	for i := range row.NumField() {
		text, ok := row.Field(i).Tag.Lookup(tag)
		if !ok {
			continue
		}
		parts := append(strings.SplitN(text, ";", 3), "")
		column := tableColumn{field: i, format: parts[1]}
		if len(parts) > 3 {
			column.zero = &parts[2]
		}
		if method, ok := row.MethodByName(row.Field(i).Name + "Text"); ok {
			column.method = method.Index + 1
		}
		columns = append(columns, column)
		t.Headers = append(t.Headers, parts[0])
	}
	for i := range all.Len() {
		cells := make([]string, len(columns))
		for j := range columns {
			cells[j] = columns[j].text(all.Index(i))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// tableColumn is how one field of a row is written.
type tableColumn struct {
	field  int
	method int     // one more than the index of the method that writes the cell; 0: none
	format string  // "": as it is
	zero   *string // what stands for 0; nil: nothing else
}

// text is the cell of a row.
func (c *tableColumn) text(row reflect.Value) string {
	if c.method > 0 {
		return row.Method(c.method - 1).Call(nil)[0].String()
	}
	value := row.Field(c.field)
	if c.zero != nil && value.IsZero() {
		return *c.zero
	}
	number := math.NaN()
	switch {
	case value.CanFloat():
		if number = value.Float(); math.IsNaN(number) {
			return "–"
		}
	case value.CanInt():
		number = float64(value.Int())
	}
	switch c.format {
	case "":
		return fmt.Sprint(value.Interface())
	case "bytes":
		return Bytes(number)
	case "percent":
		return fmt.Sprintf("%.2f %%", 100*number)
	case "millions":
		return fmt.Sprintf("%.2f", number/1e6)
	}
	return fmt.Sprintf(c.format, value.Interface())
}

// Bytes is a number of bytes in the unit that people use for it.
func Bytes(bytes float64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.0f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.0f B", bytes)
}
