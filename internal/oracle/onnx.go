package oracle

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields are those of onnx.proto.

func textField(dst []byte, field protowire.Number, text string) []byte {
	return bytesField(dst, field, []byte(text))
}

func bytesField(dst []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), content)
}

func numberField(dst []byte, field protowire.Number, number int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), uint64(number))
}

// ONNX is a network in the making. Methods return it.
type ONNX struct{ graph []byte }

// NewONNX returns a network without steps.
func NewONNX() *ONNX { return &ONNX{textField(nil, 2, "test")} }

// value is a ValueInfoProto; a dimension below 0 is a name, for any size.
func value(name string, kind int64, dims []int64) []byte {
	var shape []byte
	for _, n := range dims {
		dim := numberField(nil, 1, n)
		if n < 0 {
			dim = textField(nil, 2, string(rune('a'-n)))
		}
		shape = bytesField(shape, 1, dim)
	}
	tensor := bytesField(numberField(nil, 1, kind), 2, shape)
	return bytesField(textField(nil, 1, name), 2, bytesField(nil, 1, tensor))
}

// Input adds an input; the type is a number of onnx.proto: 1 is float32, 2 uint8.
func (n *ONNX) Input(name string, kind int64, dims ...int64) *ONNX {
	n.graph = bytesField(n.graph, 11, value(name, kind, dims))
	return n
}

// Output adds an output.
func (n *ONNX) Output(name string, kind int64, dims ...int64) *ONNX {
	n.graph = bytesField(n.graph, 12, value(name, kind, dims))
	return n
}

// tensor is a TensorProto of float32 without its numbers.
func tensor(name string, dims []int64) []byte {
	var t []byte
	for _, d := range dims {
		t = numberField(t, 1, d)
	}
	return textField(numberField(t, 2, 1), 8, name)
}

// Weights adds an array of numbers.
func (n *ONNX) Weights(name string, data []float32, dims ...int64) *ONNX {
	raw, err := binary.Append(nil, binary.LittleEndian, data)
	if err != nil {
		panic(err)
	}
	n.graph = bytesField(n.graph, 5, bytesField(tensor(name, dims), 9, raw))
	return n
}

// WeightsIn adds an array whose numbers are those that another file begins with.
func (n *ONNX) WeightsIn(file, name string, dims ...int64) *ONNX {
	location := textField(textField(nil, 1, "location"), 2, file)
	n.graph = bytesField(n.graph, 5, numberField(bytesField(tensor(name, dims), 13, location), 14, 1))
	return n
}

// ONNXAttribute is a list of numbers, or one, that a step has.
type ONNXAttribute struct {
	Name  string
	Ints  []int64
	Int   bool // one number, not a list
	Graph *ONNX
}

// Node adds a step, which is called like its first output with "step " in front.
func (n *ONNX) Node(op string, inputs, outputs []string, attributes ...ONNXAttribute) *ONNX {
	var node []byte
	for _, in := range inputs {
		node = textField(node, 1, in)
	}
	for _, out := range outputs {
		node = textField(node, 2, out)
	}
	node = textField(textField(node, 3, "step "+outputs[0]), 4, op)
	const oneInt, oneGraph, ints = 2, 5, 7
	for _, a := range attributes {
		attribute, kind := textField(nil, 1, a.Name), int64(ints)
		switch {
		case a.Graph != nil:
			attribute, kind = bytesField(attribute, 6, a.Graph.graph), oneGraph
		case a.Int:
			attribute, kind = numberField(attribute, 3, a.Ints[0]), oneInt
		default:
			for _, i := range a.Ints {
				attribute = numberField(attribute, 8, i)
			}
		}
		node = bytesField(node, 5, numberField(attribute, 20, kind))
	}
	n.graph = bytesField(n.graph, 1, node)
	return n
}

// File returns the bytes of the file.
func (n *ONNX) File() []byte {
	const irVersion, opset = 8, 13
	file := bytesField(numberField(nil, 1, irVersion), 7, n.graph)
	return bytesField(file, 8, numberField(textField(nil, 1, ""), 2, opset))
}
