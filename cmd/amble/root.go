package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"amble/frontier"
	"amble/scheduler"
)

// defaultJob is where a crawl lies when nothing else is said.
const defaultJob = "amble-job"

// cli is what every command shares: where it reads and writes, and the flags that all of them take.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	version        string

	job     string
	verbose bool
	quiet   bool
}

// Outcomes of a crawl that have an exit code of their own. The last line has told them already.
var (
	errStopped = errors.New("stopped with work left")
	errNoSeed  = errors.New("no seed was captured")
	// errReported is a failure that was told in full.
	errReported = errors.New("reported")
)

// usageError is a mistake in the command line or the configuration.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode is the contract: 0 nothing pending or a limit reached, 1 failed, 2 usage or configuration, 3 stopped with
// work left, 4 ended without a captured seed.
func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errStopped):
		return 3
	case errors.Is(err, errNoSeed):
		return 4
	case errors.As(err, &usage),
		errors.Is(err, scheduler.ErrJobExists), errors.Is(err, scheduler.ErrJobMissing),
		errors.Is(err, scheduler.ErrJobForeign), errors.Is(err, frontier.ErrForeign), errors.Is(err, frontier.ErrNewer):
		return 2
	}
	return 1
}

const exitCodeHelp = `Exit codes:
  0  nothing is pending, or a limit was reached
  1  failed
  2  usage or configuration
  3  stopped with work left; the last line says how to go on
  4  ended, but no seed was captured`

// run executes one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := newRootCommand(c)
	root.SetArgs(args)
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil, errors.Is(err, errStopped), errors.Is(err, errNoSeed), errors.Is(err, errReported):
	default:
		fmt.Fprintf(c.stderr, "amble: %s\n", printable(err.Error()))
	}
	return exitCode(err)
}

func newRootCommand(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "amble",
		Short: "A complete, polite web crawler",
		Long: `Amble crawls web sites: each host as fast as it bears and never faster than it asks. An interrupted crawl resumes
with nothing lost, and what was fetched is kept as WARC and exports into other tools.

  amble demo                                            a crawl of a small web on this machine, in about a minute
  amble crawl --contact you@example.org example.org     a first real crawl, into ./amble-job
  amble resume                                          go on after Ctrl-C, a kill or a power cut
  amble export --format jsonl -o pages.jsonl            use what was fetched`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(c),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			if strings.ContainsAny(args[0], ".:/") {
				return usagef("%q is no command: write `amble crawl %s`", args[0], args[0])
			}
			return noCommand(cmd, args[0])
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(c.stdout)
	root.SuggestionsMinimumDistance = 2
	job := defaultJob
	if j := c.getenv("AMBLE_JOB"); j != "" {
		job = j
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.job, "job", job, "the crawl's folder, a `DIR`")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "log every request and event to stderr")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "no progress; errors and what is asked for only")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{foreignFlag(cmd, err)} })
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	root.AddCommand(
		newCrawlCommand(c), newResumeCommand(c), newExportCommand(c), newStatusCommand(c), newShowCommand(c),
		newRobotsCommand(c), newCanonCommand(c), newLinksCommand(c), newSimulateCommand(c), newDemoCommand(c),
		newConfigCommand(c), newVersionCommand(c),
	)
	for _, name := range commandsNotYet {
		root.AddCommand(newNotYetCommand(name))
	}
	root.SetHelpCommand(newHelpCommand())
	nameShells(root)
	return root
}

// noCommand answers what is not one, with the nearest command.
func noCommand(root *cobra.Command, name string) error {
	message := fmt.Sprintf("%q is no command", name)
	if near := root.SuggestionsFor(name); len(near) > 0 {
		message += fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return usagef("%s; `amble help` lists them", message)
}

func (c *cli) getenv(name string) string {
	for _, pair := range c.environ {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

// notef tells the person at the terminal something, on stderr.
func (c *cli) notef(format string, args ...any) {
	fmt.Fprintf(c.stderr, "amble: "+format+"\n", args...)
}

// isTerminal tells whether w is a terminal on which a line can be rewritten.
func (c *cli) isTerminal(w io.Writer) bool { return c.isScreen(w) && c.getenv("TERM") != "dumb" }

// isScreen tells whether w is a terminal of any kind.
func (c *cli) isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// jobFlag is how a hint names the job: nothing for the default.
func (c *cli) jobFlag() string {
	if c.job == defaultJob {
		return ""
	}
	return " --job " + shellQuote(c.job)
}

func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
