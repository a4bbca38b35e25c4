package exact

import "container/heap"

// queue is a heap of variables whose keys change while they wait.
type queue struct {
	less      func(v, w int32) bool
	variables []int32
	place     []int32 // [variable] in variables, popped once it has left
}

const popped = -1

// newQueue holds the variables 0 to n-1.
func newQueue(n int, less func(v, w int32) bool) *queue {
	q := &queue{less: less, variables: make([]int32, n), place: make([]int32, n)}
	for v := range q.variables {
		q.variables[v], q.place[v] = int32(v), int32(v)
	}
	heap.Init(q)
	return q
}

// pop removes and returns the least variable.
func (q *queue) pop() int32 { return heap.Pop(q).(int32) }

// fix restores the heap after the key of v changed; a popped v is left alone.
func (q *queue) fix(v int32) {
	if place := q.place[v]; place != popped {
		heap.Fix(q, int(place))
	}
}

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.variables) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool { return q.less(q.variables[i], q.variables[j]) }

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	q.variables[i], q.variables[j] = q.variables[j], q.variables[i]
	q.place[q.variables[i]], q.place[q.variables[j]] = int32(i), int32(j)
}

// Push implements heap.Interface; nothing is ever put back.
func (q *queue) Push(any) { panic("exact: a variable was put back into the queue") }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.variables) - 1
	v := q.variables[last]
	q.variables, q.place[v] = q.variables[:last], popped
	return v
}
