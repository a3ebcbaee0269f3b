package ratectl

// cause is a Cause in one byte, as it is persisted: the numbers never change their meaning.
type cause uint8

const (
	causeStart cause = iota
	causeFloor
	causeCrawlDelay
	causeRetryAfter
	causeRateLimit
	causeLimited
	causeBlocked
	causeLatency
	causeTail
	causeFailures
	causeProbe
	causeRecover
	causeSteady
	causeShared
	causes // how many there are
)

var causeWords = [causes]Cause{
	CauseStart, CauseFloor, CauseCrawlDelay, CauseRetryAfter, CauseRateLimit, CauseLimited, CauseBlocked, CauseLatency,
	CauseTail, CauseFailures, CauseProbe, CauseRecover, CauseSteady, CauseShared,
}

func (c cause) word() Cause {
	if c < causes {
		return causeWords[c]
	}
	return CauseSteady
}
