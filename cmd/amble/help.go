package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// args makes a cobra argument check a usage error that says what is missing or too much, with an example.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		takes := argumentOf(cmd)
		if len(args) == 0 && takes != "" {
			example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
			return usagef("%s: %s is missing; for example: %s", cmd.Name(), takes, example)
		}
		if takes == "" {
			return usagef("%s takes no argument, but got %q; see `%s --help`", cmd.Name(), args[0], cmd.CommandPath())
		}
		return usagef("%s takes one %s, but got %q as well; see `%s --help`", cmd.Name(), takes, args[1], cmd.CommandPath())
	}
}

// argumentOf is the name of a command's argument in its usage line: FILE of "links --base URL FILE|-", "" without one.
func argumentOf(cmd *cobra.Command) string {
	optional, value := false, false
	for _, w := range strings.Fields(cmd.Use)[1:] {
		optional = optional || strings.HasPrefix(w, "[")
		switch {
		case optional:
			optional = !strings.HasSuffix(w, "]")
		case strings.HasPrefix(w, "-"):
			value = true
		case value:
			value = false
		default:
			w, _, _ = strings.Cut(w, "...")
			w, _, _ = strings.Cut(w, "|")
			return w
		}
	}
	return ""
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, begins string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, sub := range cmd.Root().Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begins) {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			sub, rest, err := cmd.Root().Find(args)
			switch {
			case len(args) > 0 && slices.Contains(commandsNotYet, args[0]):
				return notYet("`amble " + args[0] + "`")
			case err != nil || sub == nil || sub == cmd.Root() && len(rest) > 0:
				return noCommand(cmd.Root(), args[0])
			}
			sub.InitDefaultHelpFlag()
			sub.InitDefaultVersionFlag()
			return sub.Help()
		},
	}
}

// nameShells makes completion refuse a shell that it does not know.
func nameShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Use, cmd.Args = "completion SHELL", cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var shells []string
			for _, sub := range cmd.Commands() {
				shells = append(shells, sub.Name())
			}
			return usagef("there is no completion for %q: one of %s", args[0], strings.Join(shells, ", "))
		}
	}
}

// completeWords lets the shell offer a flag's values.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// It fails for a flag that is not there alone, which the tests of the words would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// What Amble's command line is to have, and has not yet. An answer that says so is better than the nearest other word.
var (
	commandsNotYet = []string{
		"recrawl", "verify", "replay", "prove", "explain", "report", "top", "pause", "unpause", "set", "add", "stop",
	}
	flagsNotYet = map[string][]string{
		"crawl": {
			"embeds", "extra-hops", "accept-mime", "reject-mime", "header", "load-cookies", "memory", "listen",
		},
		"export": {"text", "markdown"},
	}
	formatsNotYet = []string{"links", "cdxj", "wacz", "parquet", "files", "markdown", "wet"}
)

func notYet(what string) error {
	return usagef("%s is not there yet; the README lists what is to come", what)
}

func flagNotYet(cmd *cobra.Command, flag string) bool {
	name := cmd.Name()
	if name == "resume" {
		name = "crawl"
	}
	return slices.Contains(flagsNotYet[name], flag)
}

// newNotYetCommand is a command that only says that it is not there.
func newNotYetCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Not there yet",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return notYet(fmt.Sprintf("`amble %s`", name)) },
	}
}
