package job

import (
	"sync"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/spill"
)

// spilled returns what makes the same counting numbers in a space, which has to be there for as long as they.
func spilled(make counting.Func, space *spill.Space) counting.Func {
	var lock sync.Mutex
	moved := map[*counting.Numbers]bool{}
	return func(g *graph.Graph) (*counting.Numbers, error) {
		lock.Lock()
		defer lock.Unlock()
		c, err := make(g)
		if err != nil || moved[c] {
			return c, err
		}
		lists := []*[]float64{&c.Node, &c.Edge, &c.Split, &c.Rho}
		bytes := int64(0)
		for _, list := range lists {
			bytes += spill.Room[float64](len(*list))
		}
		if err := space.Reserve(bytes); err != nil {
			return nil, err
		}
		for _, list := range lists {
			*list = spill.Copy(space, *list)
		}
		moved[c] = true
		return c, nil
	}
}
