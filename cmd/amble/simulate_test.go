package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// simulate runs the command alone, and gives its output and exit code.
func simulate(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := &cli{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
	cmd := newSimulateCommand(c)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), exitCode(err)
}

// simulateKeys is the contract of --json: keys are added, never renamed.
var simulateKeys = []string{"plant", "controller", "seed", "throughput_pct", "objections_per_1000", "overload_s_per_hour", "floor_violations",
	"retry_after_violations", "settle_s", "interval_cv"}

func TestSimulateJSON(t *testing.T) {
	args := []string{"--plant", "b1,j", "--controller", "amble,fixed", "--runs", "2", "--seed", "3", "--json"}
	out, errs, code := simulate(t, args...)
	if code != 0 {
		t.Fatal(code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d lines", len(lines))
	}
	var names []string
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		for _, k := range simulateKeys {
			if _, ok := v[k]; !ok {
				t.Errorf("%s: no %s", line, k)
			}
		}
		names = append(names, v["plant"].(string)+"/"+v["controller"].(string)+"/"+string(rune('0'+int(v["seed"].(float64)))))
	}
	if want := []string{"b1/amble/3", "b1/amble/4", "b1/fixed/3", "b1/fixed/4", "j/amble/3", "j/amble/4", "j/fixed/3", "j/fixed/4"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
	if again, _, _ := simulate(t, args...); again != out {
		t.Error("the same seeds gave other bytes")
	}
	out, errs, code = simulate(t, "--shared", "20", "--rate", "30", "--runs", "1", "--json")
	if code != 0 || !strings.HasPrefix(out, `{"plant":"shared","controller":"amble","seed":1,"throughput_pct":`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%d %s%s", code, out, errs)
	}
	out, errs, code = simulate(t, "--family", "limiter", "--plant", "limiter-002", "--json")
	if code != 0 || !strings.HasPrefix(out, `{"plant":"limiter-002",`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%d %s%s", code, out, errs)
	}
	out, errs, code = simulate(t, "--restart", "--plant", "b1", "--runs", "1", "--json")
	if code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"start":"kept"`) || !strings.Contains(out, `"start":"cold"`) {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestSimulateTables(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--plant", "b1", "--runs", "1"}, []string{"throughput %", "b1", "0.80", "goal"}},
		{[]string{"--plant", "b1", "--runs", "1", "--controller", "fixed,nutch"}, []string{"nutch", "25/0.0/0", "starts in Retry-After"}},
		{[]string{"--family", "limiter", "--plants", "3"}, []string{"limiter", "amble", "bootstrap"}},
		{[]string{"--family", "limiter", "--plants", "3", "--plant", "limiter-002", "--trace"}, []string{"limited", "probe"}},
		{[]string{"--restart", "--plant", "b1", "--runs", "1"}, []string{"cold", "kept", "b1"}},
		{[]string{"--shared", "20", "--runs", "1", "--halved"}, []string{"goodput", "recovery", "amble"}},
		{[]string{"--plant", "b2", "--trace"}, []string{"429", "Retry-After 30", "retry-after", "more, median", "recover"}},
	} {
		out, errs, code := simulate(t, tt.args...)
		if code != 0 {
			t.Errorf("%v: exit %d: %s", tt.args, code, errs)
		}
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%.2000s", tt.args, want, out)
			}
		}
		if strings.Contains(out, "\x1b") || strings.Contains(out, "NaN") {
			t.Errorf("%v: %.2000s", tt.args, out)
		}
	}
}

func TestSimulatePlot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b1.svg")
	out, errs, code := simulate(t, "--plant", "b1", "--plot", file)
	if code != 0 || !strings.Contains(errs, file) || !strings.Contains(out, "b1") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	b, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(b, []byte("<svg ")) || !bytes.Contains(b, []byte("amble on plant b1, seed 1")) {
		t.Errorf("%v %.200s", err, b)
	}
	if _, errs, code := simulate(t, "--plant", "b1", "--plot", filepath.Join(file, "no")); code != 1 || !strings.Contains(errs, "--plot") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestSimulateUsage(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"--plant b9", `no plant is called "b9"`},
		{"--controller wget", `no controller is called "wget"`},
		{"--family ponds", `no family is called "ponds"`},
		{"--family queue --plant queue-061 --trace", `no plant is called "queue-061"`},
		{"--runs 0", "--runs"},
		{"--plants 0 --family queue", "--plants"},
		{"--trace", "--plant"},
		{"--plot x.svg --plant b1 --controller all", "one --controller"},
		{"--trace --json --plant b1", "--json"},
		{"--halved", "--shared"},
		{"--rate 5", "--shared"},
		{"--shared -1", "--shared"},
		{"--restart --family queue", "--restart"},
		{"--restart --controller scrapy", "--restart"},
		{"extra", "simulate"},
	} {
		_, errs, code := simulate(t, strings.Fields(tt.args)...)
		if code != 2 || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, %s", tt.args, code, errs)
		}
	}
}
