package bench

import "testing"

// TestBlocksText: an iteration may visit one block or several.
func TestBlocksText(t *testing.T) {
	one, several := PhaseSpeed{Blocks: 20, BlocksAtATime: 1}, PhaseSpeed{Blocks: 72, BlocksAtATime: 4}
	if one.BlocksText() != "20" || several.BlocksText() != "72 by 4" {
		t.Errorf("%q and %q", one.BlocksText(), several.BlocksText())
	}
}
