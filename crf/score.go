package crf

// LogScore returns Σ_s θ_s(y_s) + Σ_uv θ_uv(y_u, y_v) over the nodes that have a
// label and the edges both of whose ends have one, given the potentials of a whole
// network: those of Ground on the one block of partition.Whole.
func (pot *Potentials) LogScore(in *Instance, labels []int32) (score float64) {
	for s, y := range labels {
		if y != Unobserved {
			score += pot.Node[pot.NodeAt[s]+int(y)]
		}
	}
	u, v := in.Graph.Ends()
	for e := range u {
		if yu, yv := labels[u[e]], labels[v[e]]; yu != Unobserved && yv != Unobserved {
			score += pot.Table[pot.EdgeAt[e]+int(yu)*in.States(v[e])+int(yv)]
		}
	}
	return score
}
