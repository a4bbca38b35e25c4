package exact

// queue is a binary heap of variables whose keys change while they wait.
type queue struct {
	less func(v, w int32) bool
	heap []int32
	at   []int32 // [variable] place in heap, popped once it has left
}

const popped = -1

// newQueue holds the variables 0 to n-1.
func newQueue(n int, less func(v, w int32) bool) *queue {
	q := &queue{less: less, heap: make([]int32, n), at: make([]int32, n)}
	for v := range q.heap {
		q.heap[v], q.at[v] = int32(v), int32(v)
	}
	for i := n/2 - 1; i >= 0; i-- {
		q.down(i)
	}
	return q
}

func (q *queue) len() int { return len(q.heap) }

// pop removes and returns the least variable.
func (q *queue) pop() int32 {
	least := q.heap[0]
	last := len(q.heap) - 1
	q.swap(0, last)
	q.heap = q.heap[:last]
	q.down(0)
	q.at[least] = popped
	return least
}

// fix restores the heap after the key of v changed; a popped v is left alone.
func (q *queue) fix(v int32) {
	i := int(q.at[v])
	if i == popped {
		return
	}
	for i > 0 && q.less(q.heap[i], q.heap[(i-1)/2]) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	q.down(i)
}

// down moves the entry at i below its lesser children.
func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.less(q.heap[child+1], q.heap[child]) {
			child++
		}
		if !q.less(q.heap[child], q.heap[i]) {
			return
		}
		q.swap(i, child)
		i = child
	}
}

func (q *queue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.at[q.heap[i]], q.at[q.heap[j]] = int32(i), int32(j)
}
