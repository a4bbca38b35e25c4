//go:build !purego

package simd

import "unsafe"

var (
	tables512 = productKernels{vectorTable512, tableVector512}
	tables256 = productKernels{vectorTable256, tableVector256}
)

var (
	panels512 = panelKernels{8, interleave512, separate512, consistent512}
	panels256 = panelKernels{4, interleave256, separate256, consistent256}
)

func firstMessage(list []Message) *int { return (*int)(unsafe.Pointer(unsafe.SliceData(list))) }
func firstNode(list []Node) *int       { return (*int)(unsafe.Pointer(unsafe.SliceData(list))) }

func anyCavities512(weights, beliefs, messages []float64, list []Message) {
	cavities512(weights, beliefs, messages, firstMessage(list), len(list))
}

// anyProducts512 does messages with many states one by one.
func anyProducts512(out, weights, tables []float64, list []Message) {
	for len(list) > 0 {
		left := products512(out, weights, tables, firstMessage(list), len(list))
		list = list[len(list)-left:]
		if left > 0 {
			tables512.product(out, weights, tables, &list[0])
			list = list[1:]
		}
	}
}

func anyAbsorbAll512(messages, sums, out []float64, list []Message, damping float64) (residual float64) {
	return absorbAll512(messages, sums, out, firstMessage(list), len(list), damping)
}

func anyShift512(sums []float64, list []Node) (done int) {
	return len(list) - shiftAll512(sums, firstNode(list), len(list))
}

func anyTotals512(totals, weights []float64, list []Node) {
	totals512(totals, weights, firstNode(list), len(list))
}

func anySettle512(beliefs, sums, logTotals []float64, list []Node) (residual float64) {
	return settle512(beliefs, sums, logTotals, firstNode(list), len(list))
}

func anyExponentials512(tables []float64, size int, inverse []float64) (done int) {
	return len(inverse) - exponentials512(tables, size, inverse)
}

func anyCavities256(weights, beliefs, messages []float64, list []Message) {
	cavities256(weights, beliefs, messages, firstMessage(list), len(list))
}

// anyProducts256 is anyProducts512 for AVX2.
func anyProducts256(out, weights, tables []float64, list []Message) {
	for len(list) > 0 {
		left := products256(out, weights, tables, firstMessage(list), len(list))
		list = list[len(list)-left:]
		if left > 0 {
			tables256.product(out, weights, tables, &list[0])
			list = list[1:]
		}
	}
}

func anyAbsorbAll256(messages, sums, out []float64, list []Message, damping float64) (residual float64) {
	return absorbAll256(messages, sums, out, firstMessage(list), len(list), damping)
}

func anyShift256(sums []float64, list []Node) (done int) {
	return len(list) - shiftAll256(sums, firstNode(list), len(list))
}

func anyTotals256(totals, weights []float64, list []Node) {
	totals256(totals, weights, firstNode(list), len(list))
}

func anySettle256(beliefs, sums, logTotals []float64, list []Node) (residual float64) {
	return settle256(beliefs, sums, logTotals, firstNode(list), len(list))
}

func anyExponentials256(tables []float64, size int, inverse []float64) (done int) {
	return len(inverse) - exponentials256(tables, size, inverse)
}
