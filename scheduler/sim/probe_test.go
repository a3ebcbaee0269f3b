package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestProbe(t *testing.T) {
	ps := Plants()
	cs := Controllers()
	if v := os.Getenv("P"); v != "" {
		ps, _ = Choose(ps, func(p Plant) string { return p.Name }, v, "p")
	}
	if v := os.Getenv("C"); v != "" {
		cs, _ = Choose(cs, func(p Controller) string { return p.Name }, v, "c")
	}
	t0 := time.Now()
	All(context.Background(), len(ps), func(i int) int { ps[i].oracle.get(); return 0 }, nil)
	for _, p := range ps {
		fmt.Printf("%s %.3f/%.0f ", p.Name, p.oracle.get().rate, p.oracle.get().background)
	}
	fmt.Println("oracle", time.Since(t0))
	t0 = time.Now()
	var jobs []Job
	for _, p := range ps {
		for _, c := range cs {
			for s := range uint64(5) {
				jobs = append(jobs, Job{p, c, s + 1})
			}
		}
	}
	rs, _ := All(context.Background(), len(jobs), func(i int) Result { return jobs[i].Run(nil) }, nil)
	fmt.Println("runs", time.Since(t0))
	i := 0
	for _, p := range ps {
		row := []string{fmt.Sprintf("%-3s", p.Name)}
		for range cs {
			var th, ob, ov, cv, st, fl float64
			var f, ra, sd int
			for range 5 {
				r := rs[i]
				i++
				th += r.Throughput / 5
				ob += r.Objections / 5
				ov += r.Overload / 5
				cv += r.CV / 5
				st += r.Settle / 5
				sd += int(r.SettleDown)
				fl += r.AtFloor / 5
				f += r.FloorViolations
				ra += r.RetryAfterViolations
			}
			row = append(row, fmt.Sprintf("%.0f/%.1f/%.0f", th, ob, ov))
			if len(cs) == 1 {
				row = append(row, fmt.Sprintf("%.2f/%.2f/%.1f cv %.3f settle %.0f down %d floor %.0f fv %d ra %d", th, ob, ov, cv, st, sd/5, fl, f, ra))
			}
		}
		fmt.Println(strings.Join(row, "\t"))
	}
}
