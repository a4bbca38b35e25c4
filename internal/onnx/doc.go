// Package onnx runs a layer of a neural network in an ONNX file.
//
// Parse reads of a file what is needed to choose a layer, and Layer.Network writes the
// part of the network that leads to it. Open loads the ONNX Runtime library, which
// computes it: no network is computed here.
//
// The library is loaded at run time through its C interface, of which each version keeps
// the functions of earlier ones, and their places in one table. Programs built with the
// tag static, or for systems other than Linux and macOS on amd64 and arm64, load no
// libraries: Open then returns ErrNoLoading.
package onnx
