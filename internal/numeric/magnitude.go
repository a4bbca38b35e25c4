package numeric

// Least and Largest are the range of magnitudes of what learning multiplies: of the largest
// value of each feature, unless it is 0, and of the weights of samples. Products of two are
// then within 1e±300, and sums of these are numbers. Beyond it they would be 0 or infinite,
// and the end of a run would say nothing of the cause. Range is it in words.
const (
	Least, Largest = 1e-150, 1e150
	Range          = "1e-150 to 1e150"
)
