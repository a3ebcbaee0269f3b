package sim

import "time"

// restartSpan is how long is watched after a restart; restartSeed is added to the seed for it.
const (
	restartSpan = 30 * time.Minute
	restartSeed = 50
)

// Restart runs the plant to its end with Amble's controller, keeps what is persisted and starts again on a new plant;
// beside it a cold start on the same. It answers the first half hour of both.
func Restart(p Plant, seed uint64) (kept, cold Result, err error) {
	first := newAmble()
	var end time.Duration
	drive(p.fresh(), first, stream(seed), 0, p.Span, func(s Step, _ float64) { end = s.Next })
	again, err := first.reload(end)
	if err != nil {
		return Result{}, Result{}, err
	}
	p.step = nil // the half hour is over before the speed changes
	j := Job{Plant: p, Controller: Controllers()[0], Seed: seed}
	kept = j.measure(again, stream(seed+restartSeed), end, restartSpan, nil)
	kept.Start = "kept"
	cold = j.measure(newAmble(), stream(seed+restartSeed), 0, restartSpan, nil)
	cold.Start = "cold"
	return kept, cold, nil
}
