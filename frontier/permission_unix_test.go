//go:build unix

package frontier

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const childFolder = "AMBLE_FRONTIER_TEST_FOLDER"

// TestWithoutPermission runs its other half as an ordinary user: root may write anywhere.
func TestWithoutPermission(t *testing.T) {
	dir, err := os.MkdirTemp("", "frontier-readonly")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Chmod(dir, 0o755)
		os.RemoveAll(dir)
	})
	f, err := Create(filepath.Join(dir, "amble.db"), anywhere())
	if err != nil {
		t.Fatal(err)
	}
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	child := filepath.Join(dir, "child")
	copyProgram(t, child)
	if err := errors.Join(os.Chmod(filepath.Join(dir, "amble.db"), 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(child, "-test.run=^TestWithoutPermissionChild$", "-test.v")
	cmd.Env = append(os.Environ(), childFolder+"="+dir)
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutPermissionChild") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(w, from)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutPermissionChild(t *testing.T) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		t.Skip("runs inside TestWithoutPermission")
	}
	for name, err := range map[string]error{
		"open":   func() error { _, _, err := Open(filepath.Join(dir, "amble.db"), anywhere()); return err }(),
		"create": func() error { _, err := Create(filepath.Join(dir, "other.db"), anywhere()); return err }(),
	} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, rec, err := Open(filepath.Join(dir, "amble.db"), Options{ReadOnly: true})
	if err != nil || rec.Pending != 1 {
		t.Fatal(rec, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
