package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be amble itself: under that name for scripts, and with AMBLE_TEST_MAIN=1 for tests that
// start it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("AMBLE_TEST_MAIN") == "1" {
		main()
	}
	testscript.Main(m, map[string]func(){"amble": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			e.Setenv("HOME", e.WorkDir)
			// A binary with the race detector else sleeps for a second before it exits.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
	})
}
