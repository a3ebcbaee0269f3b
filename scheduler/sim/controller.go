package sim

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"amble/ratectl"
)

// What every controller that has them is set to.
const (
	floor         = 500 * time.Millisecond
	ceiling       = 30 * time.Second
	firstInterval = time.Second
)

// outcome is what a controller is told. Instants count from the beginning of the run.
type outcome struct {
	start, end time.Duration
	answer
	// shared: the governor attributes this moment to a shared resource.
	shared bool
}

// decision is what a controller answers.
type decision struct {
	// next is the earliest next start; the run takes the end of the response where that is later.
	next time.Duration
	// interval is in force: from start to start.
	interval time.Duration
	// cause is empty for those that name none.
	cause string
}

type controller interface{ observe(o outcome) decision }

// Controller is a way to pace a host.
type Controller struct {
	Name string
	// About says what it does, in a few words.
	About string

	fresh func(r *rand.Rand) controller
}

// Amble is the name of the controller that Amble crawls with.
const Amble = "amble"

// Controllers gives Amble's controller and its peers', in the order of the tables.
func Controllers() []Controller {
	return []Controller{
		{Amble, "this crawler's, ratectl", func(*rand.Rand) controller { return newAmble() }},
		{"literal", "the specification's code sample, as it stands", func(*rand.Rand) controller { return newLiteral() }},
		{"prose", "the specification's text with its own figures", func(*rand.Rand) controller { return newProse() }},
		{"fixed", "1 s from start to start", func(*rand.Rand) controller { return fixed{} }},
		{"nutch", "5 s after the end", func(*rand.Rand) controller { return nutch{} }},
		{"heritrix", "5 times the duration after the end, 3 to 30 s", func(*rand.Rand) controller { return heritrix{} }},
		{"scrapy", "AutoThrottle with DOWNLOAD_DELAY 0.5", func(r *rand.Rand) controller { return &scrapy{delay: 5, r: r} }},
		{"zeno", "token bucket of 150, 50/s, one at a time", func(*rand.Rand) controller { return newZeno() }},
	}
}

// epoch is when the runs begin; the instant does not matter.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// amble drives the real controller.
type amble struct {
	cfg    ratectl.Config
	state  ratectl.State
	window ratectl.Window
}

func newAmble() *amble { return &amble{cfg: ratectl.Config{Floor: floor, Ceiling: ceiling}} }

func (c *amble) observe(o outcome) decision {
	d := c.state.Observe(c.cfg, &c.window, o.real())
	return decision{d.Next.Sub(epoch), d.Interval, string(d.Cause)}
}

// real is the outcome as the crawler would see it.
func (o outcome) real() ratectl.Outcome {
	v := ratectl.Outcome{
		Start: epoch.Add(o.start), End: epoch.Add(o.end), Kind: kindOf(o.answer), Status: o.status, Header: o.header, Shared: o.shared,
	}
	if o.status != 0 {
		v.TTFB = o.end - o.start
	}
	if o.retryAfter > 0 {
		v.Header = http.Header{"Retry-After": {strconv.Itoa(o.retryAfter)}}
		for k, lines := range o.header {
			v.Header[k] = lines
		}
	}
	return v
}

func kindOf(a answer) ratectl.Kind {
	switch {
	case a.status == 0 && a.latency >= requestTimeout:
		return ratectl.HeadTimeout
	case a.status == 0:
		return ratectl.Reset
	case a.status == http.StatusTooManyRequests:
		return ratectl.Limited
	case a.status == http.StatusServiceUnavailable:
		return ratectl.Unavailable
	case a.status >= 500:
		return ratectl.ServerError
	case a.status >= 400:
		return ratectl.ClientError
	}
	return ratectl.Success
}

// reload gives the controller as it is after its State went through the disk, read back at an instant.
func (c *amble) reload(at time.Duration) (*amble, error) {
	b, err := c.state.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	kept := newAmble()
	if err := kept.state.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	kept.state.Loaded(kept.cfg, epoch.Add(at))
	return kept, nil
}

// quantile of values, interpolated; it sorts them.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	p := q * float64(len(x)-1)
	i := int(p)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + (p-float64(i))*(x[i+1]-x[i])
}
