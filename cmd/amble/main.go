// Command amble is a complete, polite web crawler: it crawls from seeds, resumes an interrupted crawl with nothing lost,
// and exports what it fetched.
//
// Each command has a file of its own, with newXCommand for what cobra needs to know and runX for the work. Errors travel
// up to exitCode, the one place that turns them into an exit status.
package main

import (
	"context"
	"os"
)

// version is stamped by the linker (see the Makefile).
var version = "dev"

func main() {
	c := &cli{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(), version: version,
	}
	os.Exit(c.run(context.Background(), os.Args[1:]))
}
