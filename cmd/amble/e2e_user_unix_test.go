//go:build unix

package main_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// launchAsUser is launch, as nobody where the test runs as root, from a copy of the binary that anyone may run.
func launchAsUser(t *testing.T, args ...string) *process {
	t.Helper()
	if os.Getuid() != 0 {
		return launch(t, "", args...)
	}
	dir, err := os.MkdirTemp("", "amble-e2e-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "amble-copy")
	if err := copyFile(exe, os.Args[0], 0o755); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: command(t, args...), done: make(chan struct{})}
	p.cmd.Path, p.cmd.Dir = exe, "/"
	p.cmd.Env = append(p.cmd.Env, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	const nobody = 65534
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return p.start("")
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
