// Package ratectl is the pace: a control loop per host over latency and errors, and a global limit beneath which the loops run.
package ratectl
