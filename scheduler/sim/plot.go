package sim

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"time"
)

// The drawing's measures, in its own units.
const (
	plotWidth  = 1100
	plotLeft   = 70
	plotRight  = 30
	plotTop    = 85
	laneHeight = 200
	laneGap    = 40
	tickHeight = 60 // the lane of objections
	plotStyle  = `<style>
svg{color:#222;font:13px system-ui,sans-serif}
.page{fill:#fff}text{fill:currentColor}.soft{fill:#666}.grid{stroke:#ddd;stroke-width:1}.frame{fill:none;stroke:#999}
.interval{fill:none;stroke:#0b62c4;stroke-width:1.6;stroke-linejoin:round}.latency{fill:none;stroke:#0f8a5f;stroke-width:1.2}
.objection{fill:none;stroke:#c4261d;stroke-width:1.6}
@media (prefers-color-scheme:dark){svg{color:#e6e6e6}.page{fill:#15181c}.soft{fill:#9aa0a6}.grid{stroke:#333a41}
.frame{stroke:#5f6770}.interval{stroke:#6fb1ff}.latency{stroke:#4fd1a1}.objection{stroke:#ff7b72}}
</style>`
)

// lane is a part of the drawing with a logarithmic scale of its own.
type lane struct {
	top       float64
	low, high float64 // seconds
}

func (l lane) y(v float64) float64 {
	v = min(max(v, l.low), l.high)
	return l.top + laneHeight*(1-math.Log(v/l.low)/math.Log(l.high/l.low))
}

// Plot draws a run as an SVG that needs nothing else: the interval in force, the latency and the objections over time.
// Latency is drawn as a line from the least to the largest of each column's requests. about stands under the title.
func Plot(w io.Writer, title, about string, steps []Step, span time.Duration) error {
	out := bufio.NewWriter(w)
	interval := lane{plotTop, 0.5, 1}
	latency := lane{plotTop + laneHeight + laneGap, 0.1, 0.1}
	for _, s := range steps {
		i, l := s.Interval.Seconds(), (s.End - s.At).Seconds()
		interval.low, interval.high = min(interval.low, max(i, 0.01)), max(interval.high, i)
		latency.low, latency.high = min(latency.low, max(l, 0.001)), max(latency.high, l)
	}
	interval.low, interval.high = 0.9*interval.low, 1.1*interval.high
	latency.low, latency.high = 0.9*latency.low, 1.1*latency.high
	ticks := latency.top + laneHeight + laneGap
	height := ticks + tickHeight + 50

	x := func(t time.Duration) float64 {
		return plotLeft + (plotWidth-plotLeft-plotRight)*min(max(t.Seconds()/span.Seconds(), 0), 1)
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img" aria-label="%s">`, plotWidth, height, html.EscapeString(title))
	fmt.Fprintf(out, "\n%s\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/><text x=\"%d\" y=\"26\" font-size=\"17\">%s</text>", plotStyle, plotLeft, html.EscapeString(title))
	fmt.Fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"47\">%s</text>\n", plotLeft, html.EscapeString(about))
	minutes := minutesApart(span)
	for t := time.Duration(0); t <= span; t += minutes {
		fmt.Fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.0f\"/>", x(t), x(t), plotTop, ticks+tickHeight)
		fmt.Fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f min</text>\n", x(t), ticks+tickHeight+20, t.Minutes())
	}
	interval.frame(out, "interval in force, s")
	latency.frame(out, "latency, s")
	fmt.Fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\"/>", plotLeft, ticks, plotWidth-plotLeft-plotRight, tickHeight)

	drawInterval(out, steps, x, interval)
	drawLatency(out, steps, x, latency)
	n := 0
	fmt.Fprint(out, `<path class="objection" d="`)
	for _, s := range steps {
		if s.Objection {
			n++
			fmt.Fprintf(out, "M%.1f %.0fv%d", x(s.At), ticks, tickHeight)
		}
	}
	fmt.Fprintf(out, "\"/>\n<text class=\"soft\" x=\"%d\" y=\"%.0f\">objections: %d of %d requests</text>\n</svg>\n", plotLeft, ticks-8, n, len(steps))
	return out.Flush()
}

// minutesApart puts five to twelve marks on the axis.
func minutesApart(span time.Duration) time.Duration {
	for _, m := range []time.Duration{1, 2, 5, 10, 15, 30} {
		if m *= time.Minute; span/m <= 12 {
			return m
		}
	}
	return span / 12
}

func (l lane) frame(out io.Writer, label string) {
	fmt.Fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\"/>", plotLeft, l.top, plotWidth-plotLeft-plotRight, laneHeight)
	fmt.Fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%.0f\">%s</text>\n", plotLeft, l.top-8, label)
	last := math.Inf(1)
	for decade := 0.001; decade <= 1000; decade *= 10 {
		for _, m := range [3]float64{1, 2, 5} {
			v := decade * m
			if v < l.low || v > l.high || last-l.y(v) < 16 {
				continue
			}
			last = l.y(v)
			fmt.Fprintf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", plotLeft, plotWidth-plotRight, last, last)
			fmt.Fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", plotLeft-8, last+4, v)
		}
	}
}

// drawInterval draws the steps of the interval; those that no eye could tell apart are left out.
func drawInterval(out io.Writer, steps []Step, x func(time.Duration) float64, l lane) {
	fmt.Fprint(out, `<path class="interval" d="`)
	drawn := math.Inf(-1)
	for i, s := range steps {
		y := l.y(s.Interval.Seconds())
		switch {
		case i == 0:
			fmt.Fprintf(out, "M%.1f %.1f", x(s.At), y)
		case math.Abs(y-drawn) < 0.3:
			continue
		default:
			fmt.Fprintf(out, "H%.1fV%.1f", x(s.At), y)
		}
		drawn = y
	}
	fmt.Fprintf(out, "H%d\"/>\n", plotWidth-plotRight)
}

func drawLatency(out io.Writer, steps []Step, x func(time.Duration) float64, l lane) {
	fmt.Fprint(out, `<path class="latency" d="`)
	column, least, most := math.Inf(-1), 0.0, 0.0
	flush := func() {
		if !math.IsInf(column, -1) {
			fmt.Fprintf(out, "M%.0f %.1fV%.1f", column, l.y(least)+0.6, l.y(most)-0.6)
		}
	}
	for _, s := range steps {
		v := (s.End - s.At).Seconds()
		if c := math.Round(x(s.At)); c != column {
			flush()
			column, least, most = c, v, v
			continue
		}
		least, most = min(least, v), max(most, v)
	}
	flush()
	fmt.Fprint(out, "\"/>\n")
}
