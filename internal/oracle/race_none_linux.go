//go:build !race

package oracle

const racing = false
