package extract

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/blockbp/blockbp/internal/option"
)

// Type is the type of the elements of a tensor, as onnx.proto numbers it.
type Type int32

// The types that features are made of.
const (
	Float   Type = 1
	Uint8   Type = 2
	Float16 Type = 10
	Double  Type = 11
)

var typeNames = map[Type]string{
	Float: "float32", Uint8: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "text", 9: "bool",
	Float16: "float16", Double: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16",
}

// String names the type as NumPy does.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Size returns the bytes of an element; 0 for types that features are not made of.
func (t Type) Size() int {
	return map[Type]int{Float: 4, Uint8: 1, Float16: 2, Double: 8}[t]
}

// Input is what a network is given.
type Input struct {
	Name string
	Type Type
	Dims []int64 // −1: any
}

// Model is a network in a file.
type Model struct {
	graph   []byte // the GraphProto
	before  []byte // of the ModelProto, what is not the graph
	nodes   []node
	inputs  []named // graph inputs that are no initial values
	outputs []string
}

// node is a step of the network.
type node struct {
	raw      []byte
	name, op string
	inputs   []string // with what graphs within the node take from outside
	outputs  []string
}

// named is a part of the graph with a name.
type named struct {
	name string
	raw  []byte
}

// Numbers of fields in onnx.proto.
const (
	modelGraph = 7

	graphNode        = 1
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	graphValueInfo   = 13

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeOp        = 4
	nodeAttribute = 5

	attributeGraph  = 6
	attributeGraphs = 11

	tensorName = 8
	valueName  = 1
	valueType  = 2

	typeTensor  = 1
	tensorElem  = 1
	tensorShape = 2
	shapeDim    = 1
	dimValue    = 1
)

// errDamaged is what is said of bytes that are no ONNX file.
var errDamaged = errors.New("it is no ONNX file, or was cut short; save the network as ONNX again")

// each goes through the fields of a message; text is the content of fields that are
// texts or messages, and raw the whole field.
func each(message []byte, do func(field protowire.Number, number uint64, text, raw []byte) error) error {
	for len(message) > 0 {
		field, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return errDamaged
		}
		size := protowire.ConsumeFieldValue(field, kind, message[length:])
		if size < 0 {
			return errDamaged
		}
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, _ = protowire.ConsumeVarint(message[length:])
		case protowire.BytesType:
			text, _ = protowire.ConsumeBytes(message[length:])
		}
		if err := do(field, number, text, message[:length+size]); err != nil {
			return err
		}
		message = message[length+size:]
	}
	return nil
}

// nameIn returns a field of a message that is a text.
func nameIn(message []byte, wanted protowire.Number) (name string, err error) {
	err = each(message, func(field protowire.Number, _ uint64, text, _ []byte) error {
		if field == wanted {
			name = string(text)
		}
		return nil
	})
	return name, err
}

// Parse reads a file, of which it keeps the bytes.
func Parse(file []byte) (*Model, error) {
	m := &Model{}
	err := each(file, func(field protowire.Number, _ uint64, text, raw []byte) error {
		if field != modelGraph {
			m.before = append(m.before, raw...)
			return nil
		}
		if m.graph != nil {
			return errDamaged
		}
		m.graph = text
		return nil
	})
	if err == nil && m.graph == nil {
		err = errDamaged
	}
	if err != nil {
		return nil, err
	}
	initial := map[string]bool{}
	err = each(m.graph, func(field protowire.Number, _ uint64, text, raw []byte) error {
		switch field {
		case graphNode:
			n, err := parseNode(text, raw)
			m.nodes = append(m.nodes, n)
			return err
		case graphInitializer:
			name, err := nameIn(text, tensorName)
			initial[name] = true
			return err
		case graphInput, graphOutput:
			name, err := nameIn(text, valueName)
			if field == graphInput {
				m.inputs = append(m.inputs, named{name, text})
			} else {
				m.outputs = append(m.outputs, name)
			}
			return err
		}
		return nil
	})
	m.inputs = slices.DeleteFunc(m.inputs, func(in named) bool { return initial[in.name] })
	if err == nil && len(m.nodes) == 0 {
		err = errors.New("the network in it has no steps")
	}
	return m, err
}

func parseNode(message, raw []byte) (node, error) {
	n := node{raw: raw}
	err := each(message, func(field protowire.Number, _ uint64, text, _ []byte) error {
		switch field {
		case nodeInput:
			n.inputs = append(n.inputs, string(text))
		case nodeOutput:
			n.outputs = append(n.outputs, string(text))
		case nodeName:
			n.name = string(text)
		case nodeOp:
			n.op = string(text)
		case nodeAttribute:
			return n.parseAttribute(text)
		}
		return nil
	})
	return n, err
}

// parseAttribute adds what graphs in an attribute take: more than they take from
// outside, which does no harm.
func (n *node) parseAttribute(message []byte) error {
	return each(message, func(field protowire.Number, _ uint64, text, _ []byte) error {
		if field != attributeGraph && field != attributeGraphs {
			return nil
		}
		return each(text, func(field protowire.Number, _ uint64, text, _ []byte) error {
			switch field {
			case graphNode:
				inner, err := parseNode(text, nil)
				n.inputs = append(n.inputs, inner.inputs...)
				return err
			case graphOutput: // it may be a value from outside itself
				name, err := nameIn(text, valueName)
				n.inputs = append(n.inputs, name)
				return err
			}
			return nil
		})
	})
}

// Layer is a value within a network, and what leads to it.
type Layer struct {
	Name  string
	Input Input
	model *Model
	needs map[string]bool
}

// mostNamed bounds how many layers an error names.
const mostNamed = 40

// Layers returns the names of the values that steps compute, in the order of the file.
func (m *Model) Layers() []string {
	var names []string
	for _, n := range m.nodes {
		for _, name := range n.outputs {
			if name != "" && n.op != "Constant" {
				names = append(names, name)
			}
		}
	}
	return names
}

// find returns the value that a name stands for: one of that name, or the first that the
// step of that name computes. "" is the only output.
func (m *Model) find(name string) (string, error) {
	if name == "" {
		if len(m.outputs) != 1 {
			return "", fmt.Errorf("the network has %d outputs: choose one, or an inner layer: %s",
				len(m.outputs), Listed(m.outputs))
		}
		return m.outputs[0], nil
	}
	layers := m.Layers()
	if slices.Contains(layers, name) {
		return name, nil
	}
	for _, n := range m.nodes {
		if n.name == name && len(n.outputs) > 0 {
			return n.outputs[0], nil
		}
	}
	return "", fmt.Errorf("the network has no layer %q; its layers are %s%s",
		name, Listed(layers), option.Hint(name, layers))
}

// Listed writes names, the last ones of many: features are taken near the end.
func Listed(names []string) string {
	text := ""
	if hidden := len(names) - mostNamed; hidden > 0 {
		text, names = fmt.Sprintf("%d more before ", hidden), names[hidden:]
	}
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// Layer finds a layer by its name, or that of the step that computes it; "" is the
// network's only output.
func (m *Model) Layer(name string) (*Layer, error) {
	value, err := m.find(name)
	if err != nil {
		return nil, err
	}
	l := &Layer{Name: value, model: m, needs: map[string]bool{value: true}}
	for _, n := range slices.Backward(m.nodes) { // steps stand after those that they need
		if slices.ContainsFunc(n.outputs, func(o string) bool { return l.needs[o] }) {
			for _, in := range slices.Concat(n.inputs, n.outputs) {
				l.needs[in] = true
			}
		}
	}
	var inputs []named
	for _, in := range m.inputs {
		if l.needs[in.name] {
			inputs = append(inputs, in)
		}
	}
	if len(inputs) != 1 {
		var names []string
		for _, in := range inputs {
			names = append(names, in.name)
		}
		return nil, fmt.Errorf("%s needs %d inputs (%s), want 1, the photograph; save the network with that input alone, "+
			"or choose an earlier layer", value, len(inputs), Listed(names))
	}
	l.Input, err = parseInput(inputs[0])
	return l, err
}

// parseInput reads type and shape of an input.
func parseInput(value named) (Input, error) {
	in := Input{Name: value.name}
	var kind []byte
	err := each(value.raw, func(field protowire.Number, _ uint64, text, _ []byte) error {
		if field != valueType {
			return nil
		}
		return each(text, func(field protowire.Number, _ uint64, text, _ []byte) error {
			if field == typeTensor {
				kind = text
			}
			return nil
		})
	})
	if err != nil {
		return in, err
	}
	err = each(kind, func(field protowire.Number, number uint64, text, _ []byte) error {
		switch field {
		case tensorElem:
			in.Type = Type(number)
		case tensorShape:
			return each(text, func(field protowire.Number, _ uint64, text, _ []byte) error {
				if field != shapeDim {
					return nil
				}
				size := int64(-1)
				err := each(text, func(field protowire.Number, number uint64, _, _ []byte) error {
					if field == dimValue {
						size = int64(number)
					}
					return nil
				})
				in.Dims = append(in.Dims, size)
				return err
			})
		}
		return nil
	})
	return in, err
}

// Network returns the file of the part of the network that computes the layer, with that
// as its only output. So nothing is computed that is not asked for, and every inner layer
// can be.
func (l *Layer) Network() ([]byte, error) {
	var graph []byte
	at := 0
	err := each(l.model.graph, func(field protowire.Number, _ uint64, text, raw []byte) error {
		keep := true
		switch field {
		case graphNode:
			keep = slices.ContainsFunc(l.model.nodes[at].outputs, func(o string) bool { return l.needs[o] })
			at++
		case graphInitializer, graphInput, graphValueInfo:
			key := protowire.Number(valueName)
			if field == graphInitializer {
				key = tensorName
			}
			name, err := nameIn(text, key)
			if err != nil {
				return err
			}
			// What is said of the shape of the layer goes: it is said of no output.
			keep = l.needs[name] && (field != graphValueInfo || name != l.Name)
		case graphOutput:
			keep = false
		}
		if keep {
			graph = append(graph, raw...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// An output without a type has the one that its step gives.
	output := protowire.AppendString(protowire.AppendTag(nil, valueName, protowire.BytesType), l.Name)
	graph = protowire.AppendBytes(protowire.AppendTag(graph, graphOutput, protowire.BytesType), output)
	file := slices.Clone(l.model.before)
	return protowire.AppendBytes(protowire.AppendTag(file, modelGraph, protowire.BytesType), graph), nil
}
