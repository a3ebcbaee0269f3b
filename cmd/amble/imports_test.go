package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport says which of Amble's packages a package imports directly; its order is the layers, lowest first.
var mayImport = []struct {
	pkg     string
	imports []string
}{
	{"frontier/canon", nil},
	{"ratectl", nil},
	{"fetcher/body", nil},
	{"fetcher/charset", nil},
	{"fetcher/capture", []string{"frontier/canon"}},
	{"fetcher/robots", []string{"frontier/canon", "fetcher/charset"}},
	{"fetcher/links", []string{"frontier/canon", "fetcher/charset"}},
	{"fetcher/sitemap", []string{"frontier/canon", "fetcher/charset"}},
	{"fetcher", []string{"frontier/canon", "fetcher/capture", "fetcher/body"}},
	{"frontier", []string{"frontier/canon"}},
	{"storage/warc", []string{"frontier/canon", "fetcher/capture"}},
	{"storage", []string{"frontier/canon", "fetcher/capture", "storage/warc"}},
	{"storage/export", []string{"storage", "storage/warc", "frontier/canon", "fetcher/body", "fetcher/charset", "fetcher/links"}},
	{"scheduler", []string{"frontier/canon", "ratectl", "fetcher/capture", "fetcher/body", "fetcher/charset", "fetcher/robots",
		"fetcher/links", "fetcher/sitemap", "fetcher", "frontier", "storage/warc", "storage"}},
	{"scheduler/sim", []string{"scheduler", "ratectl"}},
	{"scheduler/sim/web", []string{"scheduler", "ratectl"}},
	{"configs", []string{"scheduler", "frontier/canon", "ratectl", "fetcher", "frontier", "storage"}},
	{"cmd/amble", []string{"frontier/canon", "ratectl", "fetcher/capture", "fetcher/body", "fetcher/charset", "fetcher/robots",
		"fetcher/links", "fetcher/sitemap", "fetcher", "frontier", "storage/warc", "storage", "storage/export", "scheduler",
		"scheduler/sim", "scheduler/sim/web", "configs"}},
}

// onlyIn names libraries that one package alone may know.
var onlyIn = map[string]string{
	"go.etcd.io/bbolt":            "frontier",
	"github.com/spf13/cobra":      "cmd/amble",
	"github.com/goccy/go-yaml":    "configs",
	"github.com/temoto/robotstxt": "fetcher/robots",
}

// topLevel is all that may stand in the root of the repository, beside dot files.
var topLevel = []string{
	"go.mod", "go.sum", "cmd", "frontier", "fetcher", "ratectl", "storage", "scheduler", "configs", "Makefile", "README.md",
	"LICENSE", "CHANGELOG.md",
}

const root = "../.."

// directImports lists what the files of each package import, tests left out.
func directImports(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "dist") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		found[pkg] = append(found[pkg], "")
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[pkg] = append(found[pkg], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDirectImports(t *testing.T) {
	allowed := make(map[string][]string)
	for _, row := range mayImport {
		allowed[row.pkg] = row.imports
	}
	for pkg, imports := range directImports(t) {
		permitted, known := allowed[pkg]
		if !known && !strings.HasPrefix(pkg, "cmd/amble/") {
			t.Errorf("package %s has no row in the table of layers", pkg)
			continue
		}
		for _, name := range imports {
			if own, ok := strings.CutPrefix(name, "amble/"); ok && !slices.Contains(permitted, own) {
				t.Errorf("%s may not import %s", pkg, own)
			}
			for library, home := range onlyIn {
				if (name == library || strings.HasPrefix(name, library+"/")) && pkg != home {
					t.Errorf("%s imports %s, which is for %s alone", pkg, name, home)
				}
			}
		}
	}
}

// The state machines take the time and touch neither network nor disk.
func TestPurePackages(t *testing.T) {
	for pkg, imports := range directImports(t) {
		if pkg != "ratectl" && pkg != "frontier/canon" {
			continue
		}
		for _, name := range imports {
			if slices.Contains([]string{"net", "os", "io/fs", "syscall"}, name) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for pkg := range directImports(t) {
		dir := filepath.Join(root, filepath.FromSlash(pkg))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		documented := false
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			want := "Package " + path.Base(pkg) + " "
			if parsed.Name.Name == "main" {
				want = "Command " + path.Base(pkg) + " "
			}
			documented = documented || parsed.Doc != nil && strings.HasPrefix(parsed.Doc.Text(), want)
		}
		if !documented {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) && name != "bin" && name != "dist" {
			t.Errorf("%s does not belong at the top level", name)
		}
	}
}
