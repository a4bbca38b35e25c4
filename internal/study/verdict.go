package study

// levelTimes is the ratio up to which two times count as level: equal runs differ by as
// much, and more, by what machine and system do meanwhile. Work, which is exact, decides
// then.
const levelTimes = 1.5

// comparedTimes is how much more another method takes than BBPL: medians over the seeds.
type comparedTimes struct {
	time, work float64
}

// timesOf compares another method with BBPL.
func timesOf(n network, other, suffix string) comparedTimes {
	return comparedTimes{median(n.ratios(other, suffix, tolerance, secondsAxis)), median(n.ratios(other, suffix, tolerance, workAxis))}
}

// level reports whether times differ by no more than equal runs do.
func (v comparedTimes) level() bool { return v.time <= levelTimes && v.time >= 1/levelTimes }

// slower reports whether the other method is: by time, or by work where times are level.
// Where nothing was measured it is not.
func (v comparedTimes) slower() bool {
	if v.level() {
		return v.work > 1
	}
	return v.time > 1
}

// notBelow reports whether the ratios of one network are not below those of another: by
// time, or by work where times are level.
func (v comparedTimes) notBelow(other comparedTimes) bool {
	if q := (comparedTimes{time: v.time / other.time}); !q.level() {
		return q.time > 1
	}
	return v.work >= other.work
}
