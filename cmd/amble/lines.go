package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// eachArgument calls do for each argument, or, when "-" is the only one, for each line of standard input without its
// line end.
func eachArgument(stdin io.Reader, args []string, do func(string) error) error {
	if len(args) == 1 && args[0] == "-" {
		return eachLine(stdin, func(_ int, line string) error { return do(line) })
	}
	for _, a := range args {
		if err := do(a); err != nil {
			return err
		}
	}
	return nil
}

// eachLine calls do with each line's number, from 1, and its text without LF or CR LF.
func eachLine(r io.Reader, do func(number int, line string) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil && line == "" {
			return nil
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if err := do(number, line); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}
