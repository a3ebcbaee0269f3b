package sim

import (
	"fmt"
	"strings"
)

// Goal is what Amble's controller is held to on a plant, as the mean over the seeds. A bound of none does not count.
type Goal struct {
	// Least and Most bound the throughput, in percent of the oracle. More than Most is bold, not good.
	Least, Most float64
	Objections  float64 // per 1,000 requests
	Overload    float64 // seconds per hour
	Blocked     float64 // objections in one run
	Down, Up    float64 // d: seconds to settle after the slowdown, and after it is over
	AtFloor     float64 // seconds until the floor is reached
	CV          float64
}

const none = -1

func goal(least, objections float64) Goal {
	return Goal{Least: least, Most: none, Objections: objections, Overload: none, Blocked: none, Down: none, Up: none, AtFloor: none, CV: none}
}

func (g Goal) with(change func(*Goal)) Goal {
	change(&g)
	return g
}

// goals are what must hold, stretches what would be better still.
var (
	goals = map[string]Goal{
		"a": goal(99, 0), "h": goal(99, 0), "f": goal(99, 0), "f2": goal(97, 0),
		"b1": goal(94, 1.2).with(func(g *Goal) { g.CV = 0.10 }),
		"b2": goal(92, 1.5), "b3": goal(94, 4), "b4": goal(94, 1.2), "b5": goal(97, 0), "b7": goal(90, 1.5),
		"b6": goal(58, 0.6).with(func(g *Goal) { g.Blocked = 10 }),
		"c":  goal(95, 0.1).with(func(g *Goal) { g.Most, g.Overload, g.CV = 103, 100, 0.20 }),
		"d":  goal(97, 0.2).with(func(g *Goal) { g.Overload, g.Down, g.Up = 90, 15, 220 }),
		"e":  goal(95, 0.1).with(func(g *Goal) { g.Most, g.Overload = 112, 140 }),
		"g":  goal(82, 0.1).with(func(g *Goal) { g.Overload, g.CV = 10, 0.17 }),
		"j":  goal(88, 1.5).with(func(g *Goal) { g.Overload = 0 }),
		"k":  goal(85, 1.5).with(func(g *Goal) { g.Overload = 0 }),
	}
	stretches = map[string]Goal{
		"a": goal(99, 0).with(func(g *Goal) { g.AtFloor = 90 }), "h": goal(99, 0).with(func(g *Goal) { g.AtFloor = 90 }),
		"b1": goal(96, 0.8), "b4": goal(96, 0.8), "b2": goal(95, 1.0), "b7": goal(95, 1.0), "b3": goal(94, 2.5),
		"b6": goal(75, 0.6),
		"c":  goal(95, 0.1).with(func(g *Goal) { g.Most, g.Overload = 103, 75 }),
		"d":  goal(97, 0.2).with(func(g *Goal) { g.Overload, g.Down, g.Up = 90, 15, 120 }),
		"e":  goal(95, 0.1).with(func(g *Goal) { g.Most, g.Overload = 112, 75 }),
		"g":  goal(88, 0.1).with(func(g *Goal) { g.Overload = 10 }),
		"j":  goal(93, 1.0), "k": goal(93, 1.0),
	}
)

// Verdict says how the mean of a plant's runs stands to its goal: "stretch" or "met", else each miss. It is empty for a
// plant without a goal.
func Verdict(mean Result) string {
	g, ok := goals[mean.Plant]
	if !ok {
		return ""
	}
	if misses := g.misses(mean); len(misses) > 0 {
		return strings.Join(misses, ", ")
	}
	if s, ok := stretches[mean.Plant]; ok && len(s.misses(mean)) == 0 {
		return "stretch"
	}
	return "met"
}

func (g Goal) misses(r Result) (misses []string) {
	least := func(what string, v, bound float64) {
		if bound != none && v < bound {
			misses = append(misses, fmt.Sprintf("%s %.4g < %g", what, v, bound))
		}
	}
	most := func(what string, v, bound float64) {
		if bound != none && v > bound {
			misses = append(misses, fmt.Sprintf("%s %.4g > %g", what, v, bound))
		}
	}
	least("throughput", r.Throughput, g.Least)
	most("throughput", r.Throughput, g.Most)
	most("objections", r.Objections, g.Objections)
	most("overload", r.Overload, g.Overload)
	most("objections a run", float64(r.Objected), g.Blocked)
	most("down", r.SettleDown, g.Down)
	most("up", r.Settle, g.Up)
	most("to the floor", r.AtFloor, g.AtFloor)
	most("cv", r.CV, g.CV)
	most("floor violations", float64(r.FloorViolations), 0)
	most("starts inside Retry-After", float64(r.RetryAfterViolations), 0)
	return misses
}

// Mean is the mean of runs of one plant and controller; violations are added up, since none may be averaged away.
func Mean(runs []Result) Result {
	if len(runs) == 0 {
		return Result{}
	}
	m := Result{Plant: runs[0].Plant, Controller: runs[0].Controller, Seed: runs[0].Seed, Start: runs[0].Start,
		Oracle: runs[0].Oracle, Background: runs[0].Background}
	n := float64(len(runs))
	requests, objected := 0, 0
	for _, r := range runs {
		m.Throughput += r.Throughput / n
		m.Objections += r.Objections / n
		m.Overload += r.Overload / n
		m.FloorViolations += r.FloorViolations
		m.RetryAfterViolations += r.RetryAfterViolations
		m.Settle += r.Settle / n
		m.CV += r.CV / n
		m.PerSecond += r.PerSecond / n
		m.SettleDown += r.SettleDown / n
		m.AtFloor += r.AtFloor / n
		requests += r.Requests
		objected += r.Objected
	}
	m.Requests, m.Objected = requests/len(runs), (objected+len(runs)-1)/len(runs)
	return m
}
