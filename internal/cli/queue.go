package cli

import "context"

// queue carries one value per index from several goroutines to one that takes
// them in order.
type queue[T any] struct{ slots []chan T }

func newQueue[T any](n int) *queue[T] {
	q := &queue[T]{slots: make([]chan T, n)}
	for i := range q.slots {
		q.slots[i] = make(chan T, 1)
	}
	return q
}

func (q *queue[T]) put(i int, value T) { q.slots[i] <- value }

// take waits for the value of index i; ok is false if ctx ended first.
func (q *queue[T]) take(ctx context.Context, i int) (value T, ok bool) {
	select {
	case value = <-q.slots[i]:
		return value, true
	case <-ctx.Done():
		return value, false
	}
}

// newQueueOfIndices hands out 0 … n-1 until ctx ends.
func newQueueOfIndices(ctx context.Context, n int) <-chan int {
	indices := make(chan int)
	go func() {
		defer close(indices)
		for i := range n {
			select {
			case indices <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return indices
}
