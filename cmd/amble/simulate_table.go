package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"amble/scheduler/sim"
)

// tableOf writes aligned columns.
func tableOf(w io.Writer, write func(t io.Writer)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	write(t)
	return t.Flush()
}

// simulateTable shows one controller on every plant.
func simulateTable(w io.Writer, plants []sim.Plant, runs []sim.Result, each int) error {
	judged := runs[0].Controller == sim.Amble
	return tableOf(w, func(t io.Writer) {
		fmt.Fprint(t, "plant\tpolite/s\tthroughput %\tobjections/1000\toverload s/h\tsettled s\tat floor s\tcv\tunder floor\tin Retry-After")
		if judged {
			fmt.Fprint(t, "\tgoal")
		}
		fmt.Fprintln(t)
		for i, p := range plants {
			m := sim.Mean(runs[i*each : (i+1)*each])
			fmt.Fprintf(t, "%s\t%.2f\t%.1f\t%.2f\t%.0f\t%s\t%.0f\t%.2f\t%d\t%d", p.Name, m.Oracle, m.Throughput, m.Objections, m.Overload,
				settling(p, m), m.AtFloor, m.CV, m.FloorViolations, m.RetryAfterViolations)
			if judged {
				fmt.Fprintf(t, "\t%s", sim.Verdict(m))
			}
			fmt.Fprintln(t)
		}
	})
}

// settling shows both ways where the plant's speed changes.
func settling(p sim.Plant, m sim.Result) string {
	if p.Steps() {
		return fmt.Sprintf("%.0f down, %.0f up", m.SettleDown, m.Settle)
	}
	return fmt.Sprintf("%.0f", m.Settle)
}

// simulateComparison shows several controllers side by side.
func simulateComparison(w io.Writer, plants []sim.Plant, controllers []sim.Controller, runs []sim.Result, each int) error {
	floor, retryAfter := make([]int, len(controllers)), make([]int, len(controllers))
	fmt.Fprintln(w, "throughput in % of the polite pace / objections per 1,000 requests / seconds overloaded an hour")
	return tableOf(w, func(t io.Writer) {
		fmt.Fprint(t, "plant (polite/s)")
		for _, k := range controllers {
			fmt.Fprintf(t, "\t%s", k.Name)
		}
		fmt.Fprintln(t)
		at := 0
		for _, p := range plants {
			fmt.Fprintf(t, "%s (%.2f)", p.Name, runs[at].Oracle)
			for i := range controllers {
				m := sim.Mean(runs[at : at+each])
				at += each
				floor[i] += m.FloorViolations
				retryAfter[i] += m.RetryAfterViolations
				fmt.Fprintf(t, "\t%.0f/%.1f/%.0f", m.Throughput, m.Objections, m.Overload)
			}
			fmt.Fprintln(t)
		}
		for _, row := range []struct {
			name   string
			counts []int
		}{{"starts under the floor", floor}, {"starts in Retry-After", retryAfter}} {
			fmt.Fprint(t, row.name)
			for _, n := range row.counts {
				fmt.Fprintf(t, "\t%s", count(int64(n)))
			}
			fmt.Fprintln(t)
		}
	})
}

func simulateFamilies(ctx context.Context, c *cli, o *simulateOptions, controllers []sim.Controller) error {
	families, err := sim.Choose(sim.Families(), func(f sim.Family) string { return f.Name }, o.family, "family")
	if err != nil {
		return usagef("--family: %w", err)
	}
	if o.plant != "all" || o.trace || o.plot != "" {
		return simulateMember(c, o, families, controllers)
	}
	var jobs []sim.Job
	for _, f := range families {
		plants := f.Plants(o.plants, o.seed)
		for _, k := range controllers {
			for i, p := range plants {
				jobs = append(jobs, sim.Job{Plant: p, Controller: k, Seed: o.seed + uint64(i)})
			}
		}
	}
	runs, err := simulateAll(ctx, c, len(jobs), func(i int) sim.Result { return jobs[i].Run(nil) })
	if err != nil {
		return err
	}
	if o.json {
		return writeRuns(c, runs)
	}
	fmt.Fprintf(c.stdout, "%d plants of each family, seed %d; in brackets the 95 %% interval of a bootstrap over the plants\n", o.plants, o.seed)
	return tableOf(c.stdout, func(t io.Writer) {
		fmt.Fprintln(t, "family\tcontroller\tthroughput % p10\tp50\tp90\tobjections/1000 p50\tp90\tmost\toverload s/h p90\tunder floor\tin Retry-After")
		for _, f := range families {
			for _, k := range controllers {
				s := sim.Spreading(runs[:o.plants])
				runs = runs[o.plants:]
				fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t%.1f\t%s\t%.1f\t%s\t%d\t%d\n", f.Name, k.Name, bracketed(s.Throughput10, 0), s.Throughput50.Value,
					s.Throughput90.Value, s.Objections50.Value, bracketed(s.Objections90, 1), s.ObjectionsMost.Value, bracketed(s.Overload90, 0),
					s.FloorViolations, s.RetryAfterViolations)
			}
		}
	})
}

// simulateMember shows one run of one plant of a family.
func simulateMember(c *cli, o *simulateOptions, families []sim.Family, controllers []sim.Controller) error {
	var all []sim.Plant
	for _, f := range families {
		all = append(all, f.Plants(o.plants, o.seed)...)
	}
	plants, err := choosePlants(all, o.plant)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(all, func(p sim.Plant) bool { return p.Name == plants[0].Name })
	return simulateOne(c, o, plants, controllers, n%o.plants)
}

func bracketed(q sim.Quantile, digits int) string {
	return fmt.Sprintf("%.*f [%.*f %.*f]", digits, q.Value, digits, q.Low, digits, q.High)
}

func simulateRestart(ctx context.Context, c *cli, o *simulateOptions, plants []sim.Plant) error {
	type pair struct {
		kept, cold sim.Result
		err        error
	}
	pairs, err := simulateAll(ctx, c, len(plants)*o.runs, func(i int) (v pair) {
		v.kept, v.cold, v.err = sim.Restart(plants[i/o.runs], o.seed+uint64(i%o.runs))
		return v
	})
	if err != nil {
		return err
	}
	var kept, cold, both []sim.Result
	for _, v := range pairs {
		if v.err != nil {
			return v.err
		}
		kept, cold, both = append(kept, v.kept), append(cold, v.cold), append(both, v.kept, v.cold)
	}
	if o.json {
		return writeRuns(c, both)
	}
	return tableOf(c.stdout, func(t io.Writer) {
		fmt.Fprintln(t, "plant\tcold: pages/s\tobjections/1000\tkept: pages/s\tobjections/1000\tunder floor\tin Retry-After")
		for i, p := range plants {
			n, k := sim.Mean(cold[i*o.runs:(i+1)*o.runs]), sim.Mean(kept[i*o.runs:(i+1)*o.runs])
			fmt.Fprintf(t, "%s\t%.3f\t%.2f\t%.3f\t%.2f\t%d\t%d\n", p.Name, n.PerSecond, n.Objections, k.PerSecond, k.Objections,
				n.FloorViolations+k.FloorViolations, n.RetryAfterViolations+k.RetryAfterViolations)
		}
	})
}

func simulateShared(ctx context.Context, c *cli, o *simulateOptions, controllers []sim.Controller) error {
	runs, err := simulateAll(ctx, c, len(controllers)*o.runs, func(i int) sim.SharedResult {
		return sim.Shared{Hosts: o.shared, Rate: o.rate, Halved: o.halved, Controller: controllers[i/o.runs], Seed: o.seed + uint64(i%o.runs)}.Run()
	})
	if err != nil {
		return err
	}
	if o.json {
		return writeRuns(c, runs)
	}
	return tableOf(c.stdout, func(t io.Writer) {
		fmt.Fprintln(t, "controller\tseed\tgoodput %\tqueue p50 s\tqueue p95 s\ttimeouts/1000\trecovery s\tunder floor")
		for _, r := range runs {
			recovery := "-"
			if r.Halved {
				recovery = fmt.Sprintf("%.0f", r.Recovery)
			}
			fmt.Fprintf(t, "%s\t%d\t%.1f\t%.3f\t%.3f\t%.2f\t%s\t%d\n", r.Controller, r.Seed, r.Throughput, r.QueueP50, r.QueueP95, r.Timeouts,
				recovery, r.FloorViolations)
		}
	})
}

// writeTrace writes a run step by step. Requests that changed nothing are counted, unless all are wanted.
func writeTrace(w io.Writer, steps []sim.Step, all bool) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%10s  %-8s %9s  %10s  %-12s %s\n", "at", "result", "latency", "interval", "cause", "next start")
	var before sim.Step
	var same []time.Duration
	flush := func() {
		if len(same) > 0 {
			slices.Sort(same)
			fmt.Fprintf(out, "%10s  %d more, median %s\n", "", len(same), milliseconds(same[len(same)/2]))
		}
		same = same[:0]
	}
	for i, s := range steps {
		if !all && i > 0 && s.Interval == before.Interval && s.Cause == before.Cause && s.Status == before.Status && !s.Objection {
			same = append(same, s.End-s.At)
			continue
		}
		flush()
		note := ""
		if s.RetryAfter > 0 {
			note = fmt.Sprintf("  Retry-After %.0f", s.RetryAfter.Seconds())
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%9.1fs  %-8s %9s  %8.3f s  %-12s %.1fs%s", s.At.Seconds(), s.Outcome(),
			milliseconds(s.End-s.At), s.Interval.Seconds(), s.Cause, s.Next.Seconds(), note), " "))
		before = s
	}
	flush()
	return out.Flush()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
