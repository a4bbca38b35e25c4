package bp

// BeliefAt says where the log-belief of node s begins in State.LogBelief; −1: it is
// observed.
func (n *Net) BeliefAt(s int32) int { return n.beliefOffset(s) }

// MessageAt says where the log-message of directed edge d begins in State.LogMessage; −1:
// its target is observed.
func (n *Net) MessageAt(d int32) int {
	if n.uniform > 0 {
		return int(d) * n.uniform
	}
	return n.messageAt[d]
}
