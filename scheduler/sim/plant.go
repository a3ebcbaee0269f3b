package sim

import (
	"math"
	"math/rand/v2"
	"net/http"
	"time"
)

// requestTimeout is how long a response is waited for, in seconds.
const requestTimeout = 10.0

// answer is what a plant gives for one request.
type answer struct {
	// latency is in seconds to the first byte, or to the failure. Beyond requestTimeout it is a timeout.
	latency float64
	// status is 0 when there was no response: a reset, or a timeout when latency says so.
	status int
	// retryAfter is in seconds, 0 for none.
	retryAfter int
	// header is what the response head holds beside Retry-After.
	header http.Header
}

// plant is a simulated host. It begins idle at time 0; starts come in order.
type plant interface {
	// serve answers a request that starts at t, in seconds.
	serve(t float64, r *rand.Rand) answer
	// overload is for how many seconds the plant was overloaded, up to the last start.
	overload() float64
}

// steady is a plant that is never overloaded.
type steady struct{}

func (steady) overload() float64 { return 0 }

func timeout() answer { return answer{latency: requestTimeout} }

func page(latency float64) answer { return answer{latency: latency, status: http.StatusOK} }

// lognormal draws a time with a median in seconds and sigma, the standard deviation of its logarithm.
func lognormal(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

// pareto draws from 1 upwards with the exponent alpha.
func pareto(r *rand.Rand, alpha float64) float64 {
	return math.Pow(1-r.Float64(), -1/alpha)
}

func uniform(r *rand.Rand, from, to float64) float64 { return from + (to-from)*r.Float64() }

// stream is the randomness of one run.
func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x616d626c65)) }

// duration rounds seconds to nanoseconds.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}
