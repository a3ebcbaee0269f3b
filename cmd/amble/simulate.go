package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"amble/scheduler/sim"
)

type simulateOptions struct {
	plant, controller string
	runs              int
	seed              uint64
	json, trace       bool
	plot              string

	family string
	plants int

	restart bool

	shared int
	halved bool
	rate   float64
}

func newSimulateCommand(c *cli) *cobra.Command {
	o := &simulateOptions{}
	cmd := &cobra.Command{
		Use:   "simulate [--plant NAME|all] [--controller NAME|all]",
		Short: "Try the pace, and that of other crawlers, on simulated hosts",
		Long: `Run Amble's rate controller on simulated hosts of known behaviour, beside the controllers of other crawlers, and compare
each with the fastest fixed pace that is polite there (at most 1 objection in 1,000 requests and 2 % of the time
overloaded). Hours take milliseconds; the same seed gives the same numbers.

` + simulateNames() + `
An objection is a 429, a 503, a block, a timeout or a reset. More than 100 % throughput is faster than polite, not better.`,
		Example: `  amble simulate                                   Amble on every plant, five seeds each
  amble simulate --controller all                  beside the others
  amble simulate --plant g --trace | less          one run, step by step
  amble simulate --plant g --plot g.svg            one run, drawn
  amble simulate --family all --plants 300 --seed 7
  amble simulate --family queue --plant queue-007 --trace
  amble simulate --shared 400 --halved --rate 34   many hosts over one link`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimulate(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.plant, "plant", "all", "the simulated hosts, `NAME`s with commas between")
	f.StringVar(&o.controller, "controller", sim.Amble, "who sets the pace, `NAME`s with commas between, or all")
	f.IntVar(&o.runs, "runs", 5, "`N` runs of each, with a seed each; one of each with --family")
	f.Uint64Var(&o.seed, "seed", 1, "the first seed, `N`")
	f.BoolVar(&o.json, "json", false, "one JSON object a run")
	f.BoolVar(&o.trace, "trace", false, "write one run step by step; -v: every request")
	f.StringVar(&o.plot, "plot", "", "draw one run as SVG into `FILE`")
	f.StringVar(&o.family, "family", "", "random plants of a `NAME`, or all, instead of the named ones")
	f.IntVar(&o.plants, "plants", 60, "draw `N` plants of each family")
	f.BoolVar(&o.restart, "restart", false, "half an hour after a restart with what is kept, beside a cold start")
	f.IntVar(&o.shared, "shared", 0, "`N` healthy hosts over one link of 40 pages/s")
	f.BoolVar(&o.halved, "halved", false, "with --shared: the link is halved for ten minutes")
	f.Float64Var(&o.rate, "rate", 0, "with --shared: at most `N` starts a second over all; 0: find it")
	return cmd
}

func simulateNames() string {
	text := "Plants:\n"
	for _, p := range sim.Plants() {
		text += fmt.Sprintf("  %-9s %s\n", p.Name, p.About)
	}
	text += "\nFamilies:\n"
	for _, f := range sim.Families() {
		text += fmt.Sprintf("  %-9s %s\n", f.Name, f.About)
	}
	text += "\nControllers:\n"
	for _, k := range sim.Controllers() {
		text += fmt.Sprintf("  %-9s %s\n", k.Name, k.About)
	}
	return text
}

func runSimulate(ctx context.Context, c *cli, o *simulateOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	controllers, err := sim.Choose(sim.Controllers(), func(k sim.Controller) string { return k.Name }, o.controller, "controller")
	if err != nil {
		return usagef("--controller: %w", err)
	}
	switch {
	case o.shared > 0:
		return simulateShared(ctx, c, o, controllers)
	case o.family != "":
		return simulateFamilies(ctx, c, o, controllers)
	}
	plants, err := choosePlants(sim.Plants(), o.plant)
	if err != nil {
		return err
	}
	switch {
	case o.restart:
		return simulateRestart(ctx, c, o, plants)
	case o.trace || o.plot != "":
		return simulateOne(c, o, plants, controllers, 0)
	}
	var jobs []sim.Job
	for _, p := range plants {
		for _, k := range controllers {
			for i := range o.runs {
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
	if len(controllers) == 1 {
		return simulateTable(c.stdout, plants, runs, o.runs)
	}
	return simulateComparison(c.stdout, plants, controllers, runs, o.runs)
}

func (o *simulateOptions) validate() error {
	switch {
	case o.runs < 1 || o.runs > 10_000:
		return usagef("--runs: %d is out of range; give 1 to 10000", o.runs)
	case o.plants < 1 || o.plants > 10_000:
		return usagef("--plants: %d is out of range; give 1 to 10000", o.plants)
	case o.shared < 0 || o.shared > 10_000:
		return usagef("--shared: %d is out of range; give 1 to 10000", o.shared)
	case o.rate < 0 || o.rate > 1e6:
		return usagef("--rate: %g is out of range; give 0 to 1000000 starts a second", o.rate)
	case o.shared == 0 && (o.halved || o.rate > 0):
		return usagef("--halved and --rate are about a shared link: add --shared N")
	case o.family != "" && o.restart, o.shared > 0 && (o.restart || o.family != ""):
		return usagef("--family, --restart and --shared are studies of their own: give one of them")
	case (o.trace || o.plot != "") && (o.restart || o.shared > 0 || o.json):
		return usagef("--trace and --plot show one run of one plant: leave --restart, --shared and --json out")
	case o.restart && o.controller != sim.Amble:
		return usagef("--restart: only amble keeps what it learned; leave --controller out")
	}
	return nil
}

// simulateAll does the runs, with progress.
func simulateAll[T any](ctx context.Context, c *cli, n int, run func(i int) T) ([]T, error) {
	s := newScreen(c)
	began, told := time.Now(), time.Now()
	tell := func(done int) {
		now := time.Now()
		line := fmt.Sprintf("simulate: %d of %d runs, %s", done, n, clock(now.Sub(began)))
		switch {
		case c.quiet:
		case s.live:
			s.rewrite(line)
		case now.Sub(told) >= firstLine:
			told = now
			s.printf("%s\n", line)
		}
	}
	results, err := sim.All(ctx, n, run, tell)
	s.rewrite("")
	return results, err
}

func writeRuns[T any](c *cli, runs []T) error {
	out := json.NewEncoder(c.stdout)
	for _, r := range runs {
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func choosePlants(from []sim.Plant, names string) ([]sim.Plant, error) {
	plants, err := sim.Choose(from, func(p sim.Plant) string { return p.Name }, names, "plant")
	if err != nil {
		return nil, usagef("--plant: %w", err)
	}
	return plants, nil
}

// simulateOne does a single run and shows it; the seed is that of the nth plant of its family.
func simulateOne(c *cli, o *simulateOptions, plants []sim.Plant, controllers []sim.Controller, n int) error {
	if len(plants) != 1 || len(controllers) != 1 {
		return usagef("--trace and --plot show one run: name one with --plant, and one --controller")
	}
	j := sim.Job{Plant: plants[0], Controller: controllers[0], Seed: o.seed + uint64(n)}
	var steps []sim.Step
	result := j.Run(func(s sim.Step) { steps = append(steps, s) })
	if o.plot != "" {
		title := fmt.Sprintf("%s on plant %s, seed %d", j.Controller.Name, j.Plant.Name, j.Seed)
		about := fmt.Sprintf("%s; %.1f %% of the polite pace, %.2f objections in 1,000, %.0f s/h overloaded",
			j.Plant.About, result.Throughput, result.Objections, result.Overload)
		f, err := os.Create(o.plot)
		if err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
		if err := errors.Join(sim.Plot(f, title, about, steps, j.Plant.Span), f.Close()); err != nil {
			return fmt.Errorf("--plot %s: %w", o.plot, err)
		}
		c.notef("drawn into %s", o.plot)
	}
	switch {
	case o.trace:
		return writeTrace(c.stdout, steps, c.verbose)
	case o.json:
		return writeRuns(c, []sim.Result{result})
	}
	return simulateTable(c.stdout, []sim.Plant{j.Plant}, []sim.Result{result}, 1)
}
