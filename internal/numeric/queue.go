package numeric

import "container/heap"

// Queue has the numbers 0 to n−1, such as those of variables, in an order that may change while they wait.
type Queue struct{ list waiting }

// NewQueue begins with all numbers.
func NewQueue(n int, less func(v, w int32) bool) *Queue {
	q := &Queue{waiting{less: less, numbers: make([]int32, n), place: make([]int32, n)}}
	for v := range q.list.numbers {
		q.list.numbers[v], q.list.place[v] = int32(v), int32(v)
	}
	heap.Init(&q.list)
	return q
}

// Len returns how many numbers wait.
func (q *Queue) Len() int { return q.list.Len() }

// Pop removes and returns the least number.
func (q *Queue) Pop() int32 { return heap.Pop(&q.list).(int32) }

// Fix moves v to its place after the order has changed; one that has left is let alone.
func (q *Queue) Fix(v int32) {
	if place := q.list.place[v]; place != popped {
		heap.Fix(&q.list, int(place))
	}
}

// waiting is a heap that knows where each number is.
type waiting struct {
	less    func(v, w int32) bool
	numbers []int32
	place   []int32 // [n] in numbers, popped once it has left
}

const popped = -1

// Len implements heap.Interface.
func (q *waiting) Len() int { return len(q.numbers) }

// Less implements heap.Interface.
func (q *waiting) Less(i, j int) bool { return q.less(q.numbers[i], q.numbers[j]) }

// Swap implements heap.Interface.
func (q *waiting) Swap(i, j int) {
	q.numbers[i], q.numbers[j] = q.numbers[j], q.numbers[i]
	q.place[q.numbers[i]], q.place[q.numbers[j]] = int32(i), int32(j)
}

// Push implements heap.Interface; nothing is ever put back.
func (q *waiting) Push(any) { panic("numeric: a number was put back into the queue") }

// Pop implements heap.Interface.
func (q *waiting) Pop() any {
	last := len(q.numbers) - 1
	v := q.numbers[last]
	q.numbers, q.place[v] = q.numbers[:last], popped
	return v
}
