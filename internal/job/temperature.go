package job

import (
	"maps"
	"strconv"
)

// MetaTemperature is the key, of a model file's metadata, of the temperature of its beliefs.
const MetaTemperature = "temperature"

// Temperature is that of the model's beliefs, as infer.Predictor.Temperature; 1 where none was chosen.
func (m *Model) Temperature() float64 {
	if t, err := strconv.ParseFloat(m.Meta[MetaTemperature], 64); err == nil {
		return t
	}
	return 1
}

// setTemperature makes it part of the model.
func (m *Model) setTemperature(t float64) {
	meta := map[string]string{}
	maps.Copy(meta, m.Meta) // which another model may share
	meta[MetaTemperature] = strconv.FormatFloat(t, 'g', -1, 64)
	m.Meta = meta
}
