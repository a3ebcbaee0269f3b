// Package sim is the simulator of the pace: hosts of known behaviour ('plants'), the controllers that meet them, and the
// pace that would have been right (the oracle). Amble's controller is not a copy: it is ratectl.State.Observe, fed with
// the response heads that a server would send, and under many hosts ratectl.Governor.
//
// A plant is a discrete-event model of a server: limiters (b1 to b7), queues with other users (c, d, e), a server that
// answers to load late (g), servers that reset connections without a warning (j, k), and healthy ones that only look
// loaded (a, f, f2, h). One host has one request in flight; time is counted, not waited for, so that two hours take
// milliseconds.
//
// A run is a function of its plant, controller and seed: the same three give the same numbers. All randomness of a run
// comes from one stream (math/rand/v2, PCG).
package sim
