//go:build !unix

package main_test

import "testing"

func launchAsUser(t *testing.T, args ...string) *process { return launch(t, "", args...) }
